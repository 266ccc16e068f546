#!/usr/bin/env bash
# Commits ale_patch to a clone of the Arcade Learning Environment, as three changes on the branch `faster-frames`:
#
#     git clone https://github.com/Farama-Foundation/Arcade-Learning-Environment ale
#     native/ale_patch/upstream/make_series.sh ale && git -C ale format-patch main..faster-frames
#
# README.md beside this script is the text of the pull request. Made and tested on a9a043e2 of August 2026.
set -euo pipefail
patches=$(realpath "$(dirname "$0")/..")
cd "$1"
git checkout --quiet -b faster-frames

# Takes the files of one change out of the patch. Other compilers keep the code that they have had.
change() {
  local title=$1 included=$2
  shift 2
  git apply "${@/#/--include=src/ale/}" "$patches/ale.patch"
  for file in $included; do
    sed 's/(see ale.patch), //' "$patches/$file" >"src/ale/emucore/$file"
    sed -i "s|#include \"ale_patch/$file\"|#include \"ale/emucore/$file\"|" src/ale/emucore/*.cxx
  done
  sed -i -z 's|\(\(#include "ale/emucore/[a-z0-9_]*\.inc"\n\)\+\)#if 0\n|#ifdef __GNUC__  // and Clang\n\1#else\n|g' src/ale/emucore/*.cxx
  sed -i -z 's|\n\(#include "ale/emucore/m6502_devices.inc"\n[^\n]*\n\)|\n#ifdef __GNUC__\n\1#endif\n|' src/ale/emucore/M6502Low.cxx
  sed -i 's|See ale_patch/|See |; s|and ale_patch/|and |' src/ale/emucore/*.hxx
  git add src
  git commit --quiet -m "$title"
}

change "Make the tables of colour averaging when they are needed, and copy screens when they are asked for" "" \
  environment/phosphor_blend.cpp environment/phosphor_blend.hpp environment/stella_environment.cpp \
  environment/stella_environment.hpp
change "Draw late, 32 pixels at a time, and nothing twice" "tia_picture.inc tia_poke.inc" \
  emucore/TIA.cxx emucore/TIA.hxx
change "Thread the dispatch of the 6502, and read cartridges through pointers" \
  "m6502_devices.inc m6502_registers.inc m6502_run.inc" \
  emucore/CartFE.hxx emucore/M6502Low.cxx emucore/M6502Low.hxx emucore/M6532.hxx emucore/System.cxx emucore/System.hxx

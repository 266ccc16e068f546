"""Accounts that the system has no name or no home for, as in containers."""

import os
import pwd
from pathlib import Path

import pytest
from neurozoo.machine import complete_account

NAMES = ("USER", "HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR")
VARIABLES = (*NAMES, "LOGNAME", "LNAME", "USERNAME", "XDG_CONFIG_HOME")


@pytest.fixture
def account(monkeypatch, tmp_path):
    """Makes this process one of an account: `account(home=None, is_known=False, **variables)`; returns what it gets."""
    monkeypatch.chdir(tmp_path)
    # Root may write anywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).is_relative_to(tmp_path))

    def become(*, home=None, is_known=False, **variables):
        given = {"HOME": home, **variables}
        for name in VARIABLES:
            if given.get(name) is None:
                monkeypatch.delenv(name, raising=False)
            else:
                monkeypatch.setenv(name, str(given[name]))
        entry = pwd.struct_passwd(("her", "x", 4242, 4242, "", str(tmp_path), "/bin/sh"))
        names = {4242: entry} if is_known else {}
        monkeypatch.setattr(os, "getuid", lambda: 4242)
        monkeypatch.setattr(pwd, "getpwuid", lambda uid: names[uid])
        complete_account()
        place = f"{tmp_path}/.snakemake/home"
        return {name: os.environ[name].replace(place, "PLACE") for name in NAMES if os.environ.get(name)}

    return become


def test_without_a_name_and_a_home_there_is_a_place_in_the_working_directory(account):
    assert account() == {"USER": "4242", "HOME": "PLACE"}
    assert account(home="") == {"USER": "4242", "HOME": "PLACE"}
    assert account(home="/nonexistent", LOGNAME="her") == {"HOME": "PLACE"}


def test_a_home_that_is_read_only_stays_but_caches_move(account):
    caches = {"XDG_CACHE_HOME": "PLACE/xdg_cache_home", "MPLCONFIGDIR": "PLACE/mplconfigdir"}
    assert account(home="/usr", is_known=True) == {"HOME": "/usr", **caches}
    assert account(home="/usr", USER="her", XDG_CACHE_HOME="/usr/cache", MPLCONFIGDIR="/usr") == {
        "USER": "her",
        "HOME": "/usr",
        **caches,
    }


def test_other_accounts_keep_what_they_have(account, tmp_path):
    assert account(home=tmp_path, is_known=True) == {"HOME": str(tmp_path)}
    assert account(is_known=True) == {}
    given = {"XDG_CACHE_HOME": f"{tmp_path}/cache", "MPLCONFIGDIR": f"{tmp_path}/plots"}
    assert account(home="/usr", is_known=True, **given) == {"HOME": "/usr", **given}

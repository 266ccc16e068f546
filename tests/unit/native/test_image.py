"""Images of the project: what they are built from, and whether they fit the checkout."""

import json
import re
from pathlib import Path

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.native import image
from neurozoo.native.image import LIBRARIES, check_image, describe_image, take_libraries
from neurozoo.plan.config_models import Config

PROJECT = Path(__file__).parents[3]


def make_project(folder):
    (folder / "native").mkdir(parents=True)
    (folder / "native" / "core.cc").write_text("int main() {}\n")
    (folder / "envs").mkdir()
    for name in ("cpu", "cloud", "docs"):
        (folder / "envs" / f"requirements-{name}.txt").write_text(f"{name}==1\n")
    return folder


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path / "project")


@pytest.fixture
def built(tmp_path, project):
    folder = tmp_path / "image"
    folder.mkdir()
    describe_image(folder, commit="c0ffee", requirements=["cpu", "cloud"], project=project)
    for name in LIBRARIES:
        (folder / name).write_text(name)
    (folder / "build.json").write_text(json.dumps({"march": "x86-64-v3", "commit": None, "sha256": "of the core"}))
    return folder


def test_an_image_fits_the_checkout_that_it_was_built_from_and_any_with_the_same_packages_and_core(built, project):
    check_image(built, project=project)
    (project / "envs" / "requirements-docs.txt").write_text("docs==2\n")  # not in the image
    (project / "README.md").write_text("better words\n")
    check_image(built, project=project)


def test_without_an_image_there_is_nothing_to_check(tmp_path, project):
    check_image(tmp_path / "none", project=project)
    assert not take_libraries(tmp_path, march="x86-64-v3", image=tmp_path / "none")


@pytest.mark.parametrize(
    ("change", "differing"),
    [
        ({"envs/requirements-cpu.txt": "cpu==2\n"}, "envs/requirements-cpu.txt"),
        ({"native/core.cc": "int main() { return 1; }\n"}, "native/"),
        ({"envs/requirements-cloud.txt": None, "native/new.h": ""}, "envs/requirements-cloud.txt and native/"),
    ],
)
def test_an_image_for_another_commit_is_refused_in_a_sentence(built, project, monkeypatch, change, differing):
    for name, text in change.items():
        (project / name).unlink(missing_ok=True)
        if text is not None:
            (project / name).write_text(text)
    monkeypatch.setattr(image, "current_commit", lambda: "decade")
    with pytest.raises(NeurozooError) as caught:
        check_image(built, project=project)
    assert str(caught.value) == (
        "This image is for another commit: it was built from c0ffee, but the checkout is decade and has another "
        f"{differing}. Check out the image's commit, or build another image: make image (docs/containers.md)"
    )


def test_the_core_of_the_image_is_taken_with_the_commit_of_the_checkout(built, project, tmp_path, monkeypatch):
    monkeypatch.setattr(image, "check_image", lambda folder: check_image(folder, project=project))
    monkeypatch.setattr(image, "provenance", lambda: {"commit": "decade"})
    folder = tmp_path / "native"
    assert take_libraries(folder, march="x86-64-v3", image=built)
    assert {name: (folder / name).read_text() for name in LIBRARIES} == {name: name for name in LIBRARIES}
    assert json.loads((folder / "build.json").read_text()) == {
        "march": "x86-64-v3",
        "commit": "decade",
        "sha256": "of the core",
    }
    with pytest.raises(NeurozooError, match=r"built for x86-64-v3, but native\.march .* is native\. .* MARCH=native"):
        take_libraries(folder, march="native", image=built)
    (project / "native" / "core.cc").write_text("")
    with pytest.raises(NeurozooError, match="for another commit"):
        take_libraries(folder, march="x86-64-v3", image=built)


# ---- envs/Dockerfile


def stages():
    """Returns the instructions of each stage; what stands before the first is the first entry."""
    text = re.sub(r"^#.*\n", "", (PROJECT / "envs" / "Dockerfile").read_text(), flags=re.MULTILINE)
    return re.split(r"^(?=FROM )", text.replace("\\\n", " "), flags=re.MULTILINE)


def test_the_image_has_the_locked_packages_and_nothing_else():
    installs = re.findall(r"pip (?:install|download) .*?(?=&&|\|\||;)", " ".join(stages()))
    assert len(installs) == 2
    assert all("--require-hashes" in command and "-r envs/requirements-" in command for command in installs)
    defaults = dict(re.findall(r'^ARG (\w+)="?([^"\n]*)', stages()[0], re.MULTILINE))
    for name in (*defaults["REQUIREMENTS"].split(), *defaults["EXTRAS"].split()):
        assert (PROJECT / "envs" / f"requirements-{name}.txt").exists()


def test_the_image_runs_as_a_user_other_than_root_and_has_no_compiler():
    last = stages()[-1]
    (user,) = re.findall(r"^USER (\d+):\d+$", last, re.MULTILINE)  # a number: Kubernetes cannot look up names
    assert int(user) > 0
    assert "g++" not in last + stages()[1]
    assert "g++" in stages()[3]
    assert "COPY --from=native /opt/neurozoo/image " in last


def test_the_core_of_the_image_is_that_of_the_default_configuration():
    assert f"ARG MARCH={Config().native.march}\n" in stages()[3]
    assert Path("/opt/neurozoo/image") == image.IMAGE


def test_the_context_of_the_build_is_what_the_dockerfile_copies():
    lines = (PROJECT / ".dockerignore").read_text().splitlines()
    lines = [line for line in lines if not line.startswith("#")]
    assert lines[0] == "*"  # results, .git and .venv stay out
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", "\n".join(stages()), re.MULTILINE)
    assert {line[1:] for line in lines if line.startswith("!")} == set(" ".join(copied).split())

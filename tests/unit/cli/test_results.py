import webbrowser

import pytest
from neurozoo.__main__ import main


@pytest.mark.parametrize(("display", "opened"), [("", 0), (":0", 1)])
def test_the_gallery_is_opened_only_where_there_is_a_desktop(tmp_path, monkeypatch, display, opened):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "scores.csv").write_text("algo,model,protocol,game,games,runs,episodes,frames,score_mean\n")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").touch()
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    pages = []
    monkeypatch.setattr(webbrowser, "open", pages.append)
    main(["show", "--results", str(tmp_path), "--open"])
    assert len(pages) == opened


def test_the_gallery_needs_no_address(tmp_path, capsys):
    main(["site", "--results", str(tmp_path)])
    assert capsys.readouterr().out == f"{tmp_path}/site/index.html: 0 runs, 0 damaged, 0 not made yet\n"


def test_what_is_no_address_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["site", "--results", str(tmp_path), "--url", "example.org"])
    assert "should be an address such as https://example.org/gallery, but is 'example.org'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-d", "elsewhere"], "live shows the gallery of this folder, but -d names another. Start live there."),
        (["--directory=x"], "live shows the gallery of this folder, but --directory=x names another."),
        (["--config", "pathvars={results: x}"], "Write it into a --configfile."),
    ],
)
def test_a_gallery_of_other_results_does_not_grow(capsys, words, sentence):
    with pytest.raises(SystemExit):
        main(["live", "snakemake", "--dry-run", *words])
    assert sentence in capsys.readouterr().err

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

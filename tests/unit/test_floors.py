"""The floors of docs/architecture.md hold: no import goes up, none goes round in a circle."""

from importlinter.cli import lint_imports


def test_every_import_goes_down(capsys, monkeypatch, request):
    monkeypatch.chdir(request.config.rootpath)
    assert lint_imports(is_debug_mode=False, cache_dir=None) == 0, capsys.readouterr().out

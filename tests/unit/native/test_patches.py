"""The patches here were made with diff -u, and are compared with what the program patch makes of them, by hand."""

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.native.patches import apply_patch

PATCH = """\
--- a/one.txt
+++ b/one.txt
@@ -1,3 +1,4 @@
 first
-second
+2nd
+2nd and a half
 third
@@ -6,2 +7,1 @@
 sixth
-seventh
--- a/deep/two.txt
+++ b/deep/two.txt
@@ -1 +1 @@
-alone
+not alone
"""


def write_files(folder, *, second="second"):
    (folder / "deep").mkdir()
    (folder / "one.txt").write_text(f"first\n{second}\nthird\nfourth\nfifth\nsixth\nseventh\neighth\n")
    (folder / "deep" / "two.txt").write_text("alone\n")


def test_lines_are_replaced_added_and_dropped_in_several_files(tmp_path):
    write_files(tmp_path)
    apply_patch(PATCH, tmp_path)
    assert (tmp_path / "one.txt").read_text() == ("first\n2nd\n2nd and a half\nthird\nfourth\nfifth\nsixth\neighth\n")
    assert (tmp_path / "deep" / "two.txt").read_text() == "not alone\n"


def test_a_line_that_is_another_is_told_and_no_file_is_changed(tmp_path):
    write_files(tmp_path, second="zweite")
    with pytest.raises(NeurozooError, match=r"does not fit one\.txt: line 2 should be 'second'"):
        apply_patch(PATCH, tmp_path)
    assert "zweite" in (tmp_path / "one.txt").read_text()
    assert (tmp_path / "deep" / "two.txt").read_text() == "alone\n"

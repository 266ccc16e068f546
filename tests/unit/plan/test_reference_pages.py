from pathlib import Path
from typing import Annotated, Literal

import pytest
from neurozoo.plan.reference_pages import Entry, entries, pages
from neurozoo.validation import Number, Unique, Whole, json_schema
from pydantic import BaseModel, Field

PROJECT = Path(__file__).parents[3]


@pytest.mark.parametrize("path", pages())
def test_a_generated_file_is_what_the_classes_say(path):
    assert (PROJECT / path).read_text() == pages()[path], "run: make schema"


class Below(BaseModel):
    """A section."""


class Example(BaseModel):
    """Some keys."""

    count: Whole = Field(10_000, ge=1, multiple_of=2, description="How many.")
    share: Number | None = Field(None, gt=0, le=1, description="Which part.")
    names: Unique[str] = Field(description="Which.")
    kinds: list[Literal["a", "b"]] = Field(["a"], description="Of which kinds.")
    numbers: Annotated[list[Whole], Field(min_length=1)] = Field([1], description="Which numbers.")
    rule: Literal["first", "last"] = Field("last", description="How.")
    absent: str = Field(None, description="Only where it is written.")
    below: Below = Below()


def test_an_entry_says_what_a_key_can_be():
    assert entries(json_schema(Example)) == [
        Entry("count", "whole number", "`10_000`", "at least 1, multiple of 2", "How many."),
        Entry("share", "number or empty", "`null`", "above 0, at most 1", "Which part."),
        Entry("names", "list of text", "required", "", "Which."),
        Entry("kinds", "list of a, b", "`[a]`", "", "Of which kinds."),
        Entry("numbers", "list of whole numbers", "`[1]`", "", "Which numbers."),
        Entry("rule", "one of first, last", "`last`", "", "How."),
        Entry("absent", "text", "", "", "Only where it is written."),
    ]

"""Nothing that is not markup becomes markup."""

from core.markup import Html, highlight_quotes, joined, tag, text


def test_text_is_escaped_once() -> None:
    assert text("<b>&'\"") == "&lt;b&gt;&amp;&#x27;&quot;"
    assert text(text("<")) == "&lt;"
    assert tag("p", "<i>", tag("b", "&")) == "<p>&lt;i&gt;<b>&amp;</b></p>"


def test_attributes_cannot_be_left() -> None:
    assert tag("p", title='"><script>') == '<p title="&quot;&gt;&lt;script&gt;"></p>'
    assert tag("p", class_="a", aria_label="b", hidden=True, id=None) == '<p class="a" aria-label="b" hidden></p>'


def test_what_cannot_be_shown_is_left_out() -> None:
    assert text("a\x00b\ud800c\u202ed\u061c\u200be\x9b2J") == "abcde2J"
    assert text("a\nb\tc") == "a\nb\tc"


def test_an_element_of_a_str_method_is_no_markup() -> None:
    assert joined(Html("<p>").upper() + "<b>") == "&lt;P&gt;&lt;b&gt;"


def test_quotes_are_marked_where_they_stand() -> None:
    assert highlight_quotes("a <b> c", ["<b>"]) == "a <mark>&lt;b&gt;</mark> c"
    assert highlight_quotes("abcdef", ["abc", "bcd", "abc", "x", ""]) == "<mark>abc</mark><mark>d</mark>ef"
    assert highlight_quotes("abcdef", ["abcd", "bc"]) == "<mark>abcd</mark>ef"

"""The frame of every HTML page: it loads nothing, runs nothing, and follows the reader's colour scheme."""

from collections.abc import Iterable, Sequence

from core.markup import Html, joined, table, tag

NAMES = ("ink", "muted", "rule", "paper", *(f"series-{number}" for number in range(8)))
LIGHT = "#1c2024 #5b6470 #dde1e6 #ffffff #1b5fb0 #b8470b #0d7a5f #7a3fc0 #8f6400 #b3195f #4d5866 #0c7187"
DARK = "#e8ebef #a3adb9 #363d46 #14171b #72b2f7 #ff9c62 #4fcfa6 #bf9fff #e0bd4a #ff8cbc #aab4c0 #58cde0"
STYLE = """
*{box-sizing:border-box}
html{color-scheme:light dark}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;
 overflow-wrap:break-word}
main{max-width:76rem;margin:0 auto;padding:2rem 1.25rem 4rem}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .25rem}
h2{font-size:1.25rem;margin:3rem 0 .5rem;padding-top:.75rem;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:1.5rem 0 .5rem}
p{margin:.25rem 0 1rem;max-width:46rem}
.muted,small{color:var(--muted)}
.wide{overflow-x:auto}
.picture svg{margin:0}
svg{display:block;max-width:100%;height:auto}
.wide.picture svg{max-width:none}
.panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,20rem),1fr));gap:1.25rem}
.panels figure{margin:0}
.panels svg{width:100%;max-width:28rem}
.panels.two{max-width:56rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,24rem),1fr))}
.panels.one{display:block}
.panels.one svg{max-width:42rem}
.panels+.wide{margin-top:1.25rem}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem}
.legend span{white-space:nowrap}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;vertical-align:top;padding:.35rem .9rem .35rem 0;border-bottom:1px solid var(--rule)}
thead th{vertical-align:bottom;font-weight:600}
tbody th{font-weight:400}
.group th{font-weight:600;padding-top:1.1rem}
.figures td small{display:block;white-space:nowrap;font-size:.78rem}
.figures tbody th,.figures thead th:first-child{position:sticky;left:0;background:var(--paper);min-width:9rem}
.figures .group th{position:static}
.number{white-space:nowrap}
.sides{width:100%;table-layout:fixed}
.sides th:first-child{width:5.5rem}
.sides td,.sides th{overflow-wrap:anywhere}
dl{margin:.5rem 0;display:grid;grid-template-columns:minmax(6rem,max-content) minmax(0,1fr);gap:.25rem 1rem}
dt{grid-column:1;color:var(--muted);font-size:.9rem}
dd{grid-column:2;margin:0}
details{margin:.35rem 0}
summary{cursor:pointer;padding:.2rem 0}
details.system{border-bottom:1px solid var(--rule)}
details.case{margin-left:1rem}
details.case>dl{border-left:3px solid var(--rule);padding-left:1rem}
.said,blockquote{unicode-bidi:isolate;white-space:pre-wrap}
blockquote{margin:.25rem 0 .75rem;padding-left:.75rem;border-left:3px solid var(--rule);font-size:.92rem}
dd p{margin:0;font-size:.9rem;color:var(--muted)}
mark{background:color-mix(in srgb,var(--verdict,var(--series-4)) 30%,transparent);color:inherit}
mark[class]{border-bottom:2px solid var(--verdict)}
.fully-supported{--verdict:var(--series-2)}
.partially-supported{--verdict:var(--series-4)}
.no-support{--verdict:var(--series-1)}
.contradicted{--verdict:var(--series-5)}
.unknown{--verdict:var(--series-6)}
.gold{color:var(--series-2);font-weight:600}
ol{margin:0;padding-left:1.4rem;font-size:.9rem}
code{font:.85em ui-monospace,Menlo,Consolas,monospace;color:var(--muted);white-space:pre-wrap;overflow-wrap:anywhere}
@media(max-width:40rem){
 main{padding:1.25rem .9rem 3rem}
 dl{grid-template-columns:minmax(0,1fr)}dd{grid-column:1;margin-bottom:.4rem}
 details.case{margin-left:0}
 .sides thead{display:none}
 .sides,.sides tbody,.sides tr,.sides th,.sides td{display:block}
 .sides tbody th{font-weight:600;border:0;padding-bottom:0}
 .sides td::before{content:attr(data-system);display:block;color:var(--muted);font-size:.8rem}
}
@media print{details{display:block}}
"""
CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def variables(element: str) -> str:
    """Return the style that gives an element the colours, light or dark as the reader prefers."""
    light, dark = (
        "".join(f"--{name}:{colour};" for name, colour in zip(NAMES, colours.split(), strict=True))
        for colours in (LIGHT, DARK)
    )
    return f"{element}{{{light}}}@media (prefers-color-scheme:dark){{{element}{{{dark}}}}}"


def html_document(title: str, *content: object) -> Html:
    """Return a whole page; ``content`` are the elements of its main part."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=CONTENT_SECURITY_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Html(variables(":root") + STYLE)),
    )
    return joined(Html("<!doctype html>\n"), tag("html", head, tag("body", tag("main", *content)), lang="en"))


def table_of_figures(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """Return a table whose rows begin with their own name."""
    return table(names, tag("tbody", *(row_of_figures(name, cells) for name, *cells in rows)))


def row_of_figures(name: object, numbers: Iterable[object], *more: Html) -> Html:
    return tag("tr", tag("th", name, scope="row"), *(tag("td", one, class_="number") for one in numbers), *more)

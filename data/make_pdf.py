"""Build the sample library's PDF from its Markdown source; the same source gives the same bytes."""

from datetime import UTC, datetime
from pathlib import Path

from fpdf import FPDF

DATA = Path(__file__).parent
NAME = "artificial-intelligence-and-society"
FONT = "Helvetica"


class Booklet(FPDF):
    """A small page, 148 by 210 mm, with the title above and the page number below."""

    def header(self) -> None:
        """Print the running title, except on the first page, which has the title itself."""
        if self.page_no() > 1:
            self.set_font(FONT, "I", 8)
            self.cell(0, 6, str(self.title), align="R", new_x="LMARGIN", new_y="NEXT")
            self.ln(3)

    def footer(self) -> None:
        """Print the page number."""
        self.set_y(-14)
        self.set_font(FONT, "", 8)
        self.cell(0, 8, f"Page {self.page_no()} of {{nb}}", align="C")


def build(source: Path, target: Path) -> None:
    """Set headings and paragraphs, which blank lines separate, and write the PDF."""
    blocks = [" ".join(block.split()) for block in source.read_text("utf-8").split("\n\n") if block.strip()]
    pdf = Booklet(format=(148, 210))
    pdf.set_creation_date(datetime(2025, 6, 16, tzinfo=UTC))
    pdf.set_compression(False)  # zlib's output differs between its versions
    pdf.set_title(blocks[0].removeprefix("# "))
    pdf.set_margins(16, 14, 16)
    pdf.set_auto_page_break(True, margin=18)
    pdf.add_page()
    for block in blocks:
        if block.startswith("# "):
            size, style, text = 18, "B", block.removeprefix("# ")
        elif block.startswith("## "):
            size, style, text = 12, "B", block.removeprefix("## ")
            if pdf.will_page_break(30):  # a heading never ends a page
                pdf.add_page()
            pdf.ln(2)
            pdf.start_section(text)
        else:
            size, style, text = 10, "", block
        pdf.set_font(FONT, style, size)
        with pdf.unbreakable() as page:  # a paragraph stands on one page, and so does a quote from it
            page.multi_cell(0, size * 0.5, text, align="L", new_x="LMARGIN", new_y="NEXT")
        pdf.ln(2)
    pdf.output(str(target))


if __name__ == "__main__":
    build(DATA / "sources" / f"{NAME}.md", DATA / "library" / f"{NAME}.pdf")

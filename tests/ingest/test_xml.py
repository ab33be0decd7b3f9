import pytest

OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"


@pytest.fixture
def read(read_file):
    return lambda text, name="a.xml": read_file(name, text)


def test_a_docbook_article_is_read_with_headings_lists_and_tables(read):
    source = read(
        """<?xml version="1.0"?><!DOCTYPE article PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "http://x/d.dtd">
        <article xml:lang="en"><title>Storms</title><sect1><title>Levels &amp; signs</title>
        <para>Shut the <emphasis>north</emphasis> gate&mdash;now<indexterm><primary>x</primary></indexterm>.
        </para>
        <itemizedlist><listitem><para>Rope</para></listitem><listitem><para>Hooks</para></listitem></itemizedlist>
        <table><title>Stock</title><tgroup><tbody><row><entry>Hook</entry><entry/><entry>4</entry></row></tbody>
        </tgroup></table></sect1></article>"""
    )
    assert source.text == (
        "Storms\n\nLevels & signs\n\nShut the north gate—now.\n\n- Rope\n- Hooks\n\nStock\n\nHook | – | 4"
    )
    assert [heading.section for heading in source.headings] == ["Storms", "Levels & signs"]
    assert source.metadata == {"title": "Storms", "language": "en"}


JATS = (
    "<article><front><journal-meta><issn>1234</issn></journal-meta><article-meta><article-id>987</article-id>"
    "<title-group><article-title>On rope</article-title></title-group><contrib-group><contrib><name>"
    "<surname>Ruiz</surname><given-names>Ana</given-names></name></contrib></contrib-group></article-meta>"
    "</front><body><sec><title>Methods</title><p>We pulled <italic>hard</italic>.</p></sec></body></article>"
)


def test_a_feed_is_read_by_its_entries(read):
    source = read(
        "<rss><channel><title>News</title><item><title>Dike mended</title><link>http://x/1</link>"
        "<pubDate>Tue, 12 Mar 2024 10:00:00 GMT</pubDate><description>&lt;style&gt;p { color: red }"
        "&lt;/style&gt;&lt;p&gt;The &lt;b&gt;north&lt;/b&gt; dike holds.&lt;/p&gt;</description></item>"
        "<item><title>Bell rung</title></item></channel></rss>",
        "a.rss",
    )
    assert source.text == "Dike mended\n\nThe north dike holds.\n\nBell rung"
    assert source.records[0].metadata == {"date": "2024-03-12", "url": "http://x/1"}


def test_an_entry_has_the_address_of_its_page_and_is_html_only_where_its_kind_says_so(read):
    source = read(
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>Using &lt;table&gt; well</title>'
        '<link rel="replies" href="http://x/1/comments"/><link rel="alternate" href="http://x/1"/>'
        '<content type="html">&lt;b&gt;Shut&lt;/b&gt; it</content></entry><entry><title>Two</title>'
        '<link rel="self" href="http://x/2"/><summary>a &lt;b&gt; c</summary></entry></feed>',
        "a.atom",
    )
    assert source.text == "Using <table> well\n\nShut it\n\nTwo\n\na <b> c"
    assert [record.metadata["url"] for record in source.records] == ["http://x/1", "http://x/2"]


BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))


CASES = {
    "an article names its authors and leaves numbers of the journal out": (
        JATS,
        "On rope\n\nRuiz Ana\n\nMethods\n\nWe pulled hard.",
    ),
    "data are read as names and values without tags": (
        '<stock><item no="7"><name>Hook</name><price>4.20</price></item>'
        "<note>All <b>sold</b>.</note></stock>",
        "no: 7\nname: Hook\nprice: 4.20\n\nnote: All sold.",
    ),
    "a flat word document is read without what it does not show": (
        '<k:package xmlns:k="k" xmlns:w="w"><w:document><w:body><w:p><w:r><w:t>Shut it.</w:t></w:r>'
        "<w:del><w:r><w:delText>Leave it.</w:delText></w:r></w:del></w:p></w:body></w:document>"
        "<w:comments><w:comment><w:p><w:t>Why?</w:t></w:p></w:comment></w:comments>"
        "<w:hdr><w:p><w:t>Plan</w:t></w:p></w:hdr><w:ftr><w:p><w:t>Page 1</w:t></w:p></w:ftr></k:package>",
        "Shut it.",
    ),
    "comments and instructions are no text and an entity between blocks is its letter": (
        "<book><section><title>One</title><!-- secret --><?pi x?><para>Hel<!-- y -->lo</para>&mdash;"
        "<para>there</para></section></book>",
        "One\n\nHello\n\n—\n\nthere",
    ),
    "fields of data are all read whatever their names": (
        "<product><name>Bolt</name><remark>Fragile</remark><history>old</history><settings>loud</settings>"
        "<meta>m</meta><size>ten <counts>5</counts></size></product>",
        "name: Bolt\nremark: Fragile\nhistory: old\nsettings: loud\nmeta: m\n\nsize: ten 5",
    ),
    "a header alone is read as data": (
        "<TEI><teiHeader><title>On rope</title></teiHeader></TEI>",
        "title: On rope",
    ),
    "a description that is no feed is read as data": (
        '<r:RDF xmlns:r="x"><person><name>Ana</name></person></r:RDF>',
        "name: Ana",
    ),
    "a table in a cell is a part of that cell alone": (
        "<book><table><tr><td>outer<table><tr><td>inner text</td></tr></table></td><td>x</td>"
        "</tr></table></book>",
        "outer inner text | x",
    ),
    "a table of which there is also a picture is read": (
        "<article><body><table-wrap><alternatives><graphic/><table><tr><td>North</td><td>17</td></tr></table>"
        "</alternatives></table-wrap><p>As <inline-formula><alternatives><tex-math>x</tex-math>"
        "</alternatives></inline-formula> says.</p></body></article>",
        "North | 17\n\nAs says.",
    ),
    "a list has the numbers that a reader sees, each at the first paragraph of its item": (
        "<article><orderedlist><listitem><para>Rope</para><para>Blue.</para></listitem><listitem><para>Hook"
        "</para></listitem></orderedlist><itemizedlist><listitem><para>Bell</para></listitem></itemizedlist>"
        "<procedure><step><para>Push</para></step><step><cmd>Lock.</cmd><info>Twice.</info></step></procedure>"
        "<list list-type='order'><list-item><p>Ring</p></list-item></list></article>",
        "1. Rope\n\nBlue.\n\n2. Hook\n- Bell\n1. Push\n2. Lock.\n\nTwice.\n\n1. Ring",
    ),
    "a note follows the paragraph that it is in": (
        "<book><para>The gate<footnote><para>Of oak.</para></footnote> shuts at six.</para>"
        "<para>Ring it.</para></book>",
        "The gate shuts at six.\n\nOf oak.\n\nRing it.",
    ),
    "a superscript is no part of the figure before it": (
        "<article><body><p>Of 10<sup>6</sup> cells in 2019<sup><xref>3</xref>,<xref>4</xref></sup> the 1"
        "<sup>st</sup> died.</p></body></article>",
        "Of 10⁶ cells in 2019³,⁴ the 1st died.",
    ),
    "a piece of a document is in the encoding that it names": (
        b'<?xml version="1.0" encoding="ISO-8859-1"?><p>caf\xe9</p><p>b</p>',
        "café\n\nb",
    ),
    "an outline is read by its words": (
        '<opml><body><outline text="Storms"><outline text="Shut it"/></outline></body></opml>',
        "Storms\n\n- Shut it",
    ),
    "entities that unfold without end are not": (
        f'<!DOCTYPE book [<!ENTITY e0 "ha">{BOMB}]><book><para>Shut the gate &e11;</para></book>',
        "Shut the gate",
    ),
}


@pytest.mark.parametrize(("written", "shown"), CASES.values(), ids=CASES)
def test_what_a_reader_needs_is_read(read, written, shown):
    assert read(written).text == shown


def test_a_workbook_saved_as_xml_is_read_row_by_row(read):
    name = "urn:schemas-microsoft-com:office:spreadsheet"
    cells = [["Item", "Kind", "Price"], ["Hook", "brass", "4"], ["Rope", "9"]]
    cells.append(["Bell", "2024-03-01T00:00:00.000"])
    rows = "".join(
        "<Row>" + "".join(f"<Cell><Data>{cell}</Data></Cell>" for cell in row) + "</Row>" for row in cells
    ).replace("<Cell><Data>Rope", '<Cell ss:MergeAcross="1"><Data>Rope')
    rows = rows.replace("<Data>2024", '<Data ss:Type="DateTime">2024')
    sheet = f'<Worksheet ss:Name="Stock"><Table>{rows}</Table></Worksheet>'
    text = read(f'<Workbook xmlns="{name}" xmlns:ss="{name}">{sheet}</Workbook>').text
    assert "Item: Hook\nKind: brass\nPrice: 4" in text and "Item: Rope\nKind: Rope\nPrice: 9" in text
    assert text.endswith("Item: Bell\nKind: 2024-03-01")


def test_a_flat_open_document_is_read(read):
    source = read(
        f'<o:document xmlns:o="{OFFICE}" xmlns:t="t" xmlns:b="b">'
        "<o:automatic-styles><x>No</x></o:automatic-styles>"
        "<o:body><o:text><t:tracked-changes><t:p>Deleted words</t:p></t:tracked-changes><t:h>Storms</t:h>"
        "<t:table-of-content><t:p>Storms 1</t:p></t:table-of-content>"
        "<t:p>Shut the<t:s/><t:span>north</t:span><t:line-break/>gate.<o:annotation><t:p>Why?</t:p>"
        "</o:annotation></t:p><b:table><b:table-row>"
        "<b:table-cell><t:p>Hook</t:p></b:table-cell><b:table-cell><t:p>4</t:p></b:table-cell></b:table-row>"
        "</b:table><t:list><t:list-item><t:p>Rope</t:p></t:list-item></t:list></o:text></o:body></o:document>",
        "a.fodt",
    )
    assert source.text == "Storms\n\nShut the north gate.\n\nHook | 4\n\n- Rope"
    assert source.notes == ("1 comment was left out",)


def test_a_flat_presentation_is_read_by_its_slides(read):
    source = read(
        f'<o:document xmlns:o="{OFFICE}" xmlns:t="t" xmlns:d="d">'
        '<o:body><o:presentation><d:page><d:frame d:class="title"><t:p>Storms</t:p></d:frame></d:page>'
        "<d:page><d:frame><t:p>Shut<t:s/>it</t:p></d:frame></d:page></o:presentation></o:body></o:document>",
        "a.fodp",
    )
    assert source.text == "Storms\n\nShut it"
    assert [page.number for page in source.pages] == [1, 2]


def test_a_flat_spreadsheet_is_read_row_by_row(read):
    cell = "<b:table-cell{}><t:p>{}</t:p></b:table-cell>".format
    names = "".join(cell("", name) for name in ("Item", "Kind", "Price", "Stock"))
    values = cell("", "Rope") + cell(' b:number-columns-repeated="2"', "") + cell("", 7)
    rows = f"<b:table-row>{names}</b:table-row><b:table-row>{values}</b:table-row>"
    source = read(
        f'<o:document xmlns:o="{OFFICE}" xmlns:t="t" xmlns:b="b"><o:body><o:spreadsheet><b:table b:name="A">'
        f"{rows}</b:table></o:spreadsheet></o:body></o:document>",
        "a.fods",
    )
    assert source.text == "Item: Rope\nStock: 7"


def test_no_entity_is_expanded_and_no_other_file_is_opened(read, tmp_path):
    (tmp_path / "secret.txt").write_text("TOPSECRET")
    source = read(
        f'<!DOCTYPE book [<!ENTITY x SYSTEM "file://{tmp_path}/secret.txt"><!ENTITY y "own words">]>'
        "<book><para>Shut the gate &x;&y; now.</para></book>"
    )
    assert source.text == "Shut the gate now."


def test_a_broken_document_is_read_and_noted(read):
    source = read("<book><para>Shut the gate.</para><para>Ring <b>it</para></book>")
    assert source.text == "Shut the gate.\n\nRing it"
    [note] = source.notes
    assert note.startswith("is not well-formed (line 1)")


def test_a_cell_over_several_rows_or_columns_is_repeated_in_each(read):
    html_rows = (
        "<tr><th rowspan='2'>Site</th><th colspan='2'>Birds</th></tr><tr><th>2022</th><th>2023</th></tr>"
        "<tr><td>North</td><td>17</td><td>25</td></tr>"
    )
    cals_rows = (
        "<row><entry morerows='1'>Site</entry><entry namest='b' nameend='c'>Birds</entry></row>"
        "<row><entry>2022</entry><entry>2023</entry></row>"
        "<row><entry>North</entry><entry>17</entry><entry>25</entry></row>"
    )
    columns = "".join(f"<colspec colname='{name}'/>" for name in "abc")
    cals = f"<tgroup>{columns}<tbody>{cals_rows}</tbody></tgroup>"
    table = "Site | Birds | Birds\nSite | 2022 | 2023\nNorth | 17 | 25"
    source = read(f"<book><table>{html_rows}</table><table>{cals}</table></book>")
    assert source.text == f"{table}\n\n{table}"

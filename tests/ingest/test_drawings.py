from lxml import etree

from adaptive_rag.ingest.drawings import read_chart
from tests.ingest.made_office import A, C, chart

CX = 'xmlns:cx="http://schemas.microsoft.com/office/drawing/2014/chartex"'


def read(part):
    return list(read_chart(etree.fromstring(part)))


def points(*values):
    return "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values))


def test_a_chart_is_its_title_and_a_table_with_numbers_as_it_shows_them():
    part = chart("Loans", {"2024": [0.123, 0.5], "2025": [0.25, ""]}, ["Spring", "Autumn"], code="0%")
    assert read(part) == ["Loans", "– | 2024 | 2025\nSpring | 12% | 25%\nAutumn | 50% | –"]
    assert read(chart("Loans", {"2024": [3, 4]}, [])) == ["Loans", "– | 2024\n1 | 3\n2 | 4"]


def test_categories_in_levels_stand_with_those_above_them():
    inner = f"<c:lvl>{points('Leeds', 'York', 'Bath')}</c:lvl>"
    outer = '<c:lvl><c:pt idx="0"><c:v>North</c:v></c:pt><c:pt idx="2"><c:v>South</c:v></c:pt></c:lvl>'
    part = (
        f"<c:chart {C}><c:ser><c:cat><c:multiLvlStrRef><c:multiLvlStrCache>{inner}{outer}"
        f"</c:multiLvlStrCache></c:multiLvlStrRef></c:cat><c:val>{points(1, 2, 3)}</c:val></c:ser></c:chart>"
    )
    assert read(part) == ["– | –\nNorth, Leeds | 1\nNorth, York | 2\nSouth, Bath | 3"]


def test_series_over_other_values_are_tables_of_their_own():
    part = "".join(
        f"<c:ser><c:tx>{points(name)}</c:tx><c:xVal>{points(*x)}</c:xVal><c:yVal>{points(*y)}</c:yVal></c:ser>"
        for name, x, y in (("Tide", (1, 2), (5, 6)), ("Wind", (3, 4), (7, 8)))
    )
    axis = f"<c:title {A}><a:p><a:r><a:t>Hours</a:t></a:r></a:p></c:title>"
    assert read(f"<c:chart {C}>{axis}{part}</c:chart>") == [
        "Hours",
        "– | Tide\n1 | 5\n2 | 6",
        "– | Wind\n3 | 7\n4 | 8",
    ]


def test_a_chart_of_a_newer_kind_is_read():
    names = '<cx:pt idx="0">Asked</cx:pt><cx:pt idx="1">Paid</cx:pt>'
    values = '<cx:pt idx="0">90</cx:pt><cx:pt idx="1">12</cx:pt>'
    data = (
        f'<cx:strDim type="cat"><cx:lvl>{names}</cx:lvl></cx:strDim>'
        f'<cx:numDim type="val"><cx:lvl>{values}</cx:lvl></cx:numDim>'
    )
    series = (
        '<cx:series><cx:tx><cx:txData><cx:v>Offers</cx:v></cx:txData></cx:tx><cx:dataId val="0"/></cx:series>'
    )
    part = (
        f'<cx:chartSpace {CX}><cx:chartData><cx:data id="0">{data}</cx:data></cx:chartData>'
        f"<cx:chart>{series}</cx:chart></cx:chartSpace>"
    )
    assert read(part) == ["– | Offers\nAsked | 90\nPaid | 12"]

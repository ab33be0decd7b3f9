"""What is worked out over the rows of a table, and what is left to the reader."""

import re
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import openpyxl
import pytest

from adaptive_rag.answer.aggregate import LISTED, NAMED, of_latest_editions, work_out
from adaptive_rag.answer.comparisons import read_comparisons
from adaptive_rag.answer.quotes import WholeAnswer
from adaptive_rag.answer.table_kinds import KINDS, question_kind
from adaptive_rag.answer.table_questions import read_table_question
from adaptive_rag.answer.whole_tables import NamedRow, WholeTable, collect_tables, column_dates
from adaptive_rag.index import Index
from adaptive_rag.text.phrases import english
from tests.answer.made import build_index, candidate

Ask = Callable[[str, str], WholeAnswer | None]

INVOICES = """Invoice,Supplier,Date,Amount (£),Status
INV-101,Harbour Paper,2024-01-12,240.50,paid
INV-102,Nordic Desks,2024-02-02,1890.00,open
INV-103,Clean & Co,2024-02-20,96.00,paid
INV-104,Harbour Paper,2024-03-05,310.25,open
"""
PRICES = """# Price list

All prices include tax.

| Item | Size | Price |
|---|---|---|
| Ladder | 3 m | £89 |
| Paint bucket | 10 l | £24.50 |

## Courses

| Course | Teacher | Weeks | Fee |
|---|---|---|---|
| Pottery | Ann Lee | 8 | €120 |
| Welding | Jo Marsh | 4 | €260 |
| Drawing | Ann Lee | 10 | €95 |
"""
EVENTS = """Date,Start,End,Event,Q1 guests,Q2 guests,Indoor
2026-05-12,14:00,15:00,Meeting,12,14,yes
2026-05-19,10:00,11:00,Fire drill,90,70,no
2026-06-22,09:00,17:00,Audit,5,,yes
"""
REPAIRS = """date,house,work,firm,cost_eur,paid
2023-02-14,C,"riser burst, kitchen",Brugmann Plumbing,4280.00,no
2023-03-02,E,left boiler,Thermavent,2145.50,yes
2024-01-11,A,door closer,Locksmith Hasp,538.00,yes
2024-03-25,E,circulation pump,Thermavent,689.00,no
2024-06-17,all,car park,Pavo,38200.00,yes
"""
PARTS = """# Spare part prices

## Parts

| Code | Description | Price |
|---|---|---|
| P-1 | Pump | 596 |
| P-2 | Pump, large | 1286 |
| P-3 | Door seal | 98 |
| P-4 | Pump oil | 9 |

## Deposits

| Code of the part | Deposit | Unit |
|---|---|---|
| P-1 | 50 | piece |
| P-2 | 90 | piece |
"""
LIBRARIES = """# Year of the libraries

## Visits by town

| Town | 2024 | 2025 |
|---|---|---|
| Saltmere | 1,200 | 1,310 |
| Ebbing | 800 | 790 |
| Orrin | 450 | 600 |

## Who borrows

| Group | Readers, % | Borrowed a film, % |
|---|---|---|
| All households | 31.5 | 9.2 |
| Families with children | 44.0 | 15.1 |
| Families with grown children | 33.0 | 4.1 |
| Pensioners | 38.1 | 2.4 |
| Students | 22.0 | 7.5 |

## Shifts

| Shift name | Hours | Staff |
|---|---|---|
| Early shift | 4 | 2 |
| Late shift | 6 | 3 |
| Night shift | 5 | 1 |
| Shift | 8 | 4 |
| Weekend shift | 3 | 9 |

## Register

| Kind | Halls | Vans | Total |
|---|---|---|---|
| Accidents with injury | 2 | 1 | 3 |
| Accidents without injury | 9 | 10 | 19 |
| Broken windows | 4 | 6 | 10 |

## Tickets

| Ticket | Price |
|---|---|
| One zone | £3 |
| Two zones | £4 |
| All zones | £9 |

## Fees of members by club

| Club | 2026 |
|---|---|
| Chess | £30 |
| Judo | £45 |
"""
FEES = """# Fees

## Fees 2025

| Membership | Price |
|---|---|
| Basic | 30 |
| Gold | 90 |

## Fees 2024 (no longer valid)

| Membership | Price |
|---|---|
| Basic | 20 |
| Gold | 95 |
"""
MONTH = """## {}

| Item | Cost | Paid |
|---|---|---|
| Rent | {} | yes |
| Food | {} | no |
| **Total** | {} | |
"""
TICKETS = "\n".join(f"T-{n},2025-04-0{n},{'closed' if n % 3 else 'open'}" for n in range(1, 8))
DOCUMENTS = {
    "shop": {"invoices.csv": INVOICES, "events.csv": EVENTS, "prices.md": PRICES},
    "budget": {
        "budget.md": MONTH.format("January", 800, 200, 1000) + "\n" + MONTH.format("February", 900, 300, 1200)
    },
    "fees": {"fees.md": FEES},
    "fair": {"fair.csv": "Item,Cost\nChairs,100\nTables,150\nTents,300\nTotal cost,550\n"},
    "kit": {"kit.csv": "Item,Cost\nChairs,100\nTables,150\nTents,300\nTotal relief kit,90\n"},
    "counted": {
        "staff.csv": "Name,Role,Hours\nAnn Lee,Nurse,38\nBo Lind,Nurse,20\nCy Dent,Cook,20\n",
        "visits.csv": "City,Year,Visitors\nRome,2023,500\nRome,2024,400\nOslo,2023,450\nOslo,2024,470\n",
        "hire.csv": "Thing,Quantity,Unit price\nChair,10,£20\nTable,2,£100\n",
        "releases.csv": "Release,Change\n1.8,Logo\n1.9,Search\n1.10,Dark mode\n",
    },
    "repairs": {"repair costs 2023 2024.csv": REPAIRS},
    "parts": {"price list.md": PARTS, "stock.csv": "Part,Description,On hand\nP-1,Pump,5\nP-3,Door seal,7\n"},
    "libraries": {"libraries.md": LIBRARIES},
    "towns": {"table.csv": "Town,Median age\nSaltmere,41\nEbbing,38\n"},
    "lengths": {"table.csv": "Part,Length\nRope,3 m\nCord,40 cm\nWire,2 m\n"},
    "pumps": {
        "stock.csv": "Part,Description,On hand\nP-1,Pump for acid,5\nP-2,Pump for oil,7\nP-3,Door seal,2\n"
    },
    "dated": {
        "repairs.csv": "date,work,firm,cost,paid\n2023-02-14,boiler,Pavo,42,no\n"
        "2024-01-11,boiler,Pavo,21,yes\n2024-02-11,roof,Elm,7,yes\n"
    },
    "members": {"members.csv": "Member,Fee,Paid\nAnn Lee,20,✓\nJo Marsh,30,?\n"},
    "tickets": {"tickets.csv": f"Ticket,Opened,Status\n{TICKETS}\n"},
    "gaps": {
        "plans.csv": "Plan,Fee\nBasic,£5\nPlus,£8\nPro,n/a\n",
        "rooms.csv": "Room,Booked by\nAttic,Ann Lee\nCellar,\nHall,Jo Marsh\n",
        "costs.csv": "Area,Work,Cost\nGarden,Seeds,120\n,Tools,80\nHouse,Paint,300\n,Total,500\n",
        "phones.md": "| Member | Phone |\n|---|---|\n| Ann | 5551 |\n| Bo | – |\n| Cy | 5553 |\n",
        "budget.md": "| Part | Task | Budget |\n|---|---|---|\n| Roof | Tiles | 90 |\n| | Beams | 70 |\n"
        "| | Total | 160 |\n",
    },
    # tables that people ask about in other words than theirs
    "shed": {
        "lending prices 2025.csv": "Tool,Price (€ per day),Price for members (€ per day)\nHedge trimmer,4,3\n"
        "Lawn trimmer,5,4\nShredder,9,8\n",
        "lending prices 2026.csv": "Tool,Price (€ per day),Price for members (€ per day),Deposit\n"
        "Hedge trimmer,5,4,none\nLawn trimmer,7,6,20\nCordless drill,4,3,10\nShredder,from 12,from 11,50\n"
        "Digger,on request,on request,200\n",
        "menu.md": "| Dish | Price (€) | Milk | Nuts |\n|---|---|---|---|\n| Porridge | 4.20 | yes | no |\n"
        "| Lentil soup | 6.50 | no | no |\n| Brownie | 3.80 | no | may contain |\n"
        "| Curry | 9.20 | no | no |\n",
        "rounds.md": "| Round by van | Mon | Fri |\n|---|---|---|\n| Knockmore | 9-11 | – |\n"
        "| Rathmore | – | 14-16 |\n",
        "takings.md": "# Takings in thousand pounds\n\n| Month | North | South |\n|---|---|---|\n"
        "| May | 12.5 | 9.1 |\n| June | 14.2 | 8.0 |\n",
        "stock.csv": "Bin,Left (kg),Best before\nOats,20,31.05.2026\nLentils,12,31.08.2026\n"
        "Rice,7,31.05.2027\n",
        "tools lent.csv": "Saw,Lent date,Returned date\nBow,2026-03-01,2026-08-01\n"
        "Jig,2026-04-01,2026-05-01\n",
        "goods in.csv": "Day,Supplier,Crates\nTue 2 Jun,Glasheen,4\nFri 5 Jun,Feeney,2\nMon 8 Jun,Kehoe,3\n",
    },
    "long": {
        "jobs.csv": f"Job,Report,Hours\nJ-1,{80 * 'It leaks. '},4\nJ-2,{800 * 'It is loud. '},9\n"
        'J-3,"Seen on Monday.\nDone.",2\n'
    },
    "sales": {
        "sales.csv": "Region,Product,Revenue\nNorth,Tea,10\nNorth,Soap,20\nNorth,Total,30\nSouth,Tea,5\n"
        "South,Total,5\n"
    },
    "decimals": {
        "samples.csv": "Sample,Lead\nA1,0.0012\nB1,0.0030\n",
        "machines.csv": "Machine,Price\nMill,1.200 €\nSaw,800 €\n",
        "cables.csv": "Cable,Length\nRed,1.125\nBlue,2.5\nBlack,3\n",
    },
    "staff": {
        "seats.csv": "Van,Seats left\nRed,0\nBlue,3\n",
        "staff.csv": "Member,Last name,Phone,Start date\nAda,Roil,5551,2021-03-01\nBo,Lund,,2022-04-01\n",
    },
    "club": {
        "club.csv": "Member,Plot,Since,Rent (£),Phone,Paid,Remote,Coach,Born\n"
        "Ada Moss,A1,2015,42,5551,yes,no,Jo Marsh,1953-04-02\n"
        "Ben Okoro,A2,2019,60,,no,yes,Jo Marsh,1980-02-01\n"
        "Cara Lund,B1,2024,90,5553,yes,yes,Ann Lee,1958-02-09\n",
        "orders.csv": "Order,Member,Pieces\n1,Ada Moss,3\n2,Ada Moss,5\n3,Cara Lund,1\n",
    },
    "people": {
        "staff.csv": "Name,Age,Start date,Team\nAda,29,2021-05-03,IT\nBo,57,2003-01-15,Sales\n"
        "Cy,35,2019-02-11,IT\n"
    },
    "forms": {
        "tools.csv": "Tool;Price;Weight (kg);Bought;Checked;Built\n"
        "Mill;1.249,00 €;0,125;03/04/2023;03/04/2026;May 2022\n"
        "Saw;39,90 €;1,3;17/11/2021;05/03/2026;March 2023\nAwl;14,45 €;0,2;05/06/2022;;June 2023\n"
    },
    "laptops": {"stock.csv": "Asset,Model,Price\nA-1,Laptop 14,£90\nA-2,Laptop 16,£70\nA-3,Phone 8,£95\n"},
    "sold": {
        "orders.csv": "No,Product,Total\n1,Tent,£20\n2,Stove,£50\n",
        "goods.csv": "Code,Product,Price\nA,Tent,£20\nB,Mats,£7\n",
    },
    "plots": {"plots.csv": "Plot,Rent,Paid\n1,£5,yes\n2,£7,no\n3,£9,yes\n"},
    "orders": {"orders.csv": "Order,Total\n101,£5\n102,£7\n"},
    "stock": {"stock.csv": "Item,Price\nPump,£90\nBell,£4\nLamp,£12\nMedian,£12\nAverage,£35.33\n"},
}
CRATES = {
    "Archive": [["Code", "Cost £"], ["A1", 4.5], ["B1", 9.5]],
    "2025": [
        ["Prices of 2025 - NOT VALID ANY MORE"],
        ["Code", "Weight kg", "Cost £"],
        ["A1", 4, 5.5],
        ["B1", 9, 12.5],
    ],
    "Crates": [
        ["Code", "Size", "Weight kg", "Cost £", "Grade"],
        ["A1", "A", 4.6, 6.2, "C"],
        ["A2", "A", 8.1, 10.9, "B"],
        ["B1", "B", 9.8, 13.1, "C"],
        ["F2", "F", 17.4, 21.6, "C"],
    ],
    "Contents": [
        ["Item", "Pack", "A1", "Gift box"],
        ["Tea", "80 bags", 1, "yes, green"],
        ["Rice", "1 kg", 0, "-"],
        ["Soup", "400 g", 2, None],
        ["Fish", "tin", 1, 2],
    ],
}


def build_crates(folder: Path) -> Index:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in CRATES.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(folder / "crates.xlsx")
    Index.build(folder / "crates.xlsx", folder / "index")
    return Index.open(folder / "index")


def work_out_of(index: Index, question: str) -> WholeAnswer | None:
    return work_out(question, index.search([question], limit=2)[0], index)


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Ask a question of the documents of a name."""

    @cache
    def index_of(name: str) -> Index:
        folder = tmp_path_factory.mktemp("tables")
        return build_crates(folder) if name == "crates" else build_index(folder, DOCUMENTS[name])

    return lambda name, question: work_out_of(index_of(name), question)


@pytest.mark.parametrize(
    ("question", "said", "rows"),
    [
        ("Which invoice is the largest?", "highest “amount”: INV-102", ["INV-102"]),
        ("what is the latest invoice", "latest “date”: INV-104", ["INV-104"]),
        ("What is the cheapest course?", "lowest “fee”: Drawing", ["Drawing"]),
        ("what is the total of all open invoices?", "adds up to £2,200.25", ["INV-102", "INV-104"]),
        ("What is the average fee of a course?", "(Courses) is €158.33:", ["Pottery", "Welding", "Drawing"]),
        ("median amount of the open invoices", "is £1,100.125:", ["INV-102", "INV-104"]),
        ("how many invoices are open?", "2 of the 4 rows", ["INV-102", "INV-104"]),
        ("how many suppliers are there?", "3 different values of “supp", ["Harbour", "Nordic", "Clean"]),
        ("how many invoices are there?", "There are 4 rows in invoices.csv:", ["101", "102", "103", "104"]),
        ("which courses does Ann Lee teach?", "Pottery", ["Pottery", "Drawing"]),
        ("list the events in May", "The 2 rows of events.csv with date in May:", ["Meeting", "drill"]),
        ("Which event is the last?", "latest “date”: 2026-06-22: event Audit [", ["Audit"]),
        ("Which event has the most guests in Q2?", "event Fire drill, 70 (Q2 guests)", ["drill"]),
        ("average number of guests in Q2?", "of the 2 rows of events.csv is 42", ["Meeting", "drill"]),
        ("Which events are indoors?", "The 2 rows of events.csv with indoor yes:", ["Meeting", "Audit"]),
        ("what is the number of events?", "3 different values of “event”", ["Meeting", "drill", "Audit"]),
    ],
)
def test_it_is_worked_out_over_all_rows_and_each_is_cited(
    ask: Ask, question: str, said: str, rows: list[str]
) -> None:
    found = ask("shop", question)
    assert found is not None and said in found.text
    assert len(found.citations) == len(rows)
    for row in rows:
        assert any(row in citation["quote"] for citation in found.citations)
    for citation in found.citations:
        assert f"[{citation['marker']}]" in found.text
        assert citation["quote"] in found.passages[citation["marker"] - 1]["text"]


def test_two_limits_are_two_comparisons() -> None:
    _, comparisons = read_comparisons("which courses cost less than £60 and more than 20")
    assert sorted(text for comparison in comparisons for _, text in comparison.limits) == ["20", "£60"]


@pytest.mark.parametrize(
    "question",
    [
        "who teaches welding?",  # a row says it
        "how many weeks is the pottery course?",  # a cell says it
        "which invoice is the largest in Spain?",  # nothing of Spain stands there
        "list all penguins",
        "why are courses cheap?",
        "what happens if an invoice is open?",
        "how many invoices are open but not of Clean & Co?",  # other rows than those with the cell
        "what is the total amount without Harbour Paper?",
        "which courses have over 8 pupils?",
        "which courses are under 8 weeks or over 200 euros?",
        "which invoices do not cost more than £100?",
        "who pays less than 5 km?",
        "who pays invoices over £500?",
        "what happens after 1 March?",
        "which invoices are between £5 and May?",
        "what is the invoice number of Nordic Desks?",
        "list the events and whether they are indoors",
        "list the events on 12 May",
        "list the events in July",
        "what is the most expensive course of our college?",  # nothing says that they are its courses
        "what is the total fee by teacher?",
        "how many events were there last year?",
        "which is the second cheapest course?",
        "what are the last 2 invoices?",
        "which is the heaviest invoice?",  # no column is a weight
        "",
    ],
)
def test_a_question_of_other_words_is_left_to_the_reader(ask: Ask, question: str) -> None:
    assert ask("shop", question) is None


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.calculate])
def test_each_calculation_is_found_by_its_first_word_and_has_a_sentence(name: str) -> None:
    assert question_kind(f"what is the {KINDS[name].words.split()[0]} price?") == (name, "")
    assert all(value in english()[name] for value in ("{column}", "{of}", "{figure}"))


def test_the_basis_of_a_median_counts_the_rows_without_those_of_results(ask: Ask) -> None:
    found = ask("stock", "what is the median price")
    assert found is not None
    assert found.text.startswith("The median “price” of the 3 rows of stock.csv is £12: Pump £90 [")
    assert found.basis == "median of 'price' over 3 of 3 rows"


def test_of_many_rows_some_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    rows = "".join(f"Tool {n},{n},{'rusty' if n % 2 else 'polished'}\n" for n in range(1, 61))
    index = build_index(tmp_path, {"tools.csv": f"Tool,Price,State\n{rows}"})
    total = work_out_of(index, "what do all tools cost in total?")
    assert total is not None and "adds up to 1,830 over" in total.text
    assert total.text.endswith(f"and {60 - NAMED} more")
    listed = work_out_of(index, "list all polished tools")
    assert listed is not None and listed.text.count("\n- Tool") == LISTED
    assert listed.text.endswith(f"- and {30 - LISTED} more")
    # what was not read before is cited all the same
    assert len(listed.passages) >= LISTED


def test_rows_are_named_in_words_and_of_many_columns_what_was_asked_is_shown(tmp_path: Path) -> None:
    text = "Sku,Item,Group,Maker,Unit cost,Price\n" + "".join(
        f"HC-{n:03},{item},{group},Tolley,{n},{2 * n}\n"
        for n, (item, group) in enumerate([("Pump", "Tools"), ("Bell", "Extras"), ("Lamp", "Extras")], 1)
    )
    index = build_index(tmp_path, {"bicycle stock.csv": text})
    dearest = work_out_of(index, "the most expensive item in stock")
    extras = work_out_of(index, "list all extras")
    assert dearest is not None and dearest.text.endswith("highest “price”: Lamp: price 6 [3]")
    assert extras is not None and re.sub(r" \[\d\]", "", extras.text).endswith("Extras:\n- Bell\n- Lamp")
    # one row of a name: its cell is asked for
    assert work_out_of(index, "how many bells are there?") is None


@pytest.mark.parametrize(
    ("documents", "question", "said"),
    [
        # rows are those below the named heading, and sums are none of them
        ("budget", "What is the total cost in January?", "1,000 over the 2 rows of budget.md (January)"),
        ("budget", "What is the total cost of food?", "adds up to 500 over"),
        ("budget", "What is the total cost?", "“cost” adds up to 2,200 over the 4 rows of budget.md:"),
        ("budget", "What is the highest cost?", "Rent: cost 900"),
        ("budget", "How many have paid?", None),
        # rows of a section that is no longer valid do not count unless it is named
        ("fees", "what is the cheapest membership", "Of the 2 rows of fees.md (Fees 2025), this has"),
        ("fees", "what is the average price of a membership", "of the 2 rows of fees.md (Fees 2025) is 60"),
        ("fees", "how many memberships are there", "There are 2 rows in fees.md (Fees 2025)"),
        ("fees", "what was the cheapest membership in 2024", "Basic: price 20"),
        # a row named a total does not count if it has the sum of the others
        ("fair", "what is the total cost?", "“cost” adds up to 550 over the 3 rows"),
        ("fair", "what is the highest cost?", "Tents: cost 300"),
        ("fair", "how many items are there?", "There are 3 rows"),
        ("kit", "how many items are there?", "There are 4 rows"),
        ("sales", "what is the total revenue?", "“revenue” adds up to 35 over the 3 rows"),
        ("sales", "what is the highest revenue?", "product Soap, revenue 20"),
        # a row counts although it has only a name, or lacks it
        ("gaps", "what is the highest fee?", "Of the 2 rows of plans.csv, this has the highest “fee”: Plus"),
        ("gaps", "how many rooms are there?", "There are 3 rows in rooms.csv: Attic, Cellar, Hall"),
        ("gaps", "how many members are there?", None),  # "Bo" may be the name of a group
        ("gaps", "what is the total cost?", "“cost” adds up to 500 over the 3 rows of costs.csv"),
        ("gaps", "what is the total budget?", "“budget” adds up to 160 over the 2 rows of budget.md"),
        ("gaps", "what is the total cost in the garden?", None),  # also of the row below?
        ("staff", "which members have a phone?", "The one row of staff.csv with phone:\n- Roil: member Ada"),
        ("staff", "which vans have seats left?", "The one row of seats.csv with seats left:\n- Blue"),
        ("staff", "what are the last names?", None),  # not the latest date
        ("staff", "who has the last start date?", "latest “start date”: Lund"),
        # a record may be longer than a chunk, and its cells may have several lines
        ("long", "how many jobs are there?", "There are 3 rows in jobs.csv"),
        ("long", "what is the total number of hours?", "“hours” adds up to 15 over the 3 rows"),
        # decimals are kept, and a point before three digits may separate thousands
        ("decimals", "what is the average lead?", "is 0.0021:"),
        ("decimals", "which machine is the most expensive?", None),
        ("decimals", "what is the total price of the mill?", "adds up to 1.200 € over"),
        ("decimals", "which cable is the longest?", "Black: length 3"),
        # what is counted is not mixed up with what is added up
        ("counted", "what is the total number of nurses?", "2 of the 3 rows of staff.csv have role Nurse"),
        ("counted", "what is the total number of hours?", "“hours” adds up to 78 over the 3 rows"),
        ("counted", "what is the total number of visitors in 2024?", "adds up to 870 over the 2 rows"),
        ("counted", "what is the average number of nurses?", None),
        ("counted", "how many visitors did Rome have?", None),  # not its rows
        ("counted", "how many cities are there?", "2 different values of “city” in the 4 rows of visits.csv"),
        ("counted", "how many cities are there in 2024?", "2 of the 4 rows of visits.csv have year 2024"),
        ("counted", "how many chairs are there in total?", "“quantity” adds up to 10"),
        ("counted", "what is the total unit price?", None),
        ("counted", "what do all things cost together?", None),
        ("counted", "what is the latest release?", None),  # 1.10 is no decimal
        # rows are those of the years, months, names and cells of the question
        ("repairs", "how much did repairs cost in 2024 in total", "adds up to 39,427.00 over the 3 rows"),
        ("repairs", "total cost of all the repairs by Thermavent", "adds up to 2,834.50 over the 2 rows"),
        ("repairs", "total cost of the repairs by Brugmann", "with firm Brugmann Plumbing"),
        ("repairs", "list all repairs in house A", "The one row of repair costs 2023 2024.csv with house A:"),
        ("repairs", "how many repairs in March 2024", "1 of the 5 rows of repair costs 2023 2024.csv"),
        ("repairs", "most expensive repair", "“cost eur”: car park: cost eur 38200.00"),
        ("repairs", "most expensive repair in 2023", "rows of repair costs 2023 2024.csv with date in 2023"),
        ("repairs", "total cost of repairs in 2022", None),
        ("repairs", "total cost of the repairs by Hansen", None),
        ("repairs", "total cost of the repairs of boilers and roofs", None),
        # of several tables, the one whose names fit is read; "spare" stands in the title
        ("parts", "how many parts are in the price list", "There are 4 rows in price list.md (Parts)"),
        ("parts", "what is the cheapest spare part", "lowest “price”: Pump oil: code P-4, price 9"),
        ("parts", "what is the most expensive pump", "Of the 2 rows of price list.md (Parts) with"),
        ("parts", "how many P-3 do we have in stock", "Door seal: part P-3, on hand 7"),
        ("parts", "which parts are out of stock", None),
        ("parts", "what does P-3 mean", None),
        ("parts", "how much is the refund in total", None),
        ("parts", "list the codes", None),  # two tables have them
        # cells may be what is counted, and a word of all rows is no condition
        ("libraries", "how many visits did all towns have in 2025", "“2025” adds up to 2,700 over"),
        ("libraries", "how many towns are there", "There are 3 rows in libraries.md (Visits by town)"),
        ("libraries", "how many visits did all towns have", None),  # in which year?
        ("libraries", "how many staff are there on the night shift", None),  # a cell says it
        ("libraries", "how many members are there in 2026", None),  # the column has fees
        # a row of all the others is neither a condition nor one of them
        ("libraries", "which household group borrowed films least", "Of the 4 rows of libraries.md (Who"),
        ("libraries", "what is the average of readers, %", "is 34.28 %: Families with children 44.0 %"),
        ("libraries", "which ticket has the highest price", "Of the 3 rows of libraries.md (Tickets)"),
        # a word that all names have is no condition
        ("libraries", "which shift has the most staff", "Of the 5 rows of libraries.md (Shifts), this has"),
        ("libraries", "total staff of the night shift", "adds up to 1 over the one row"),
        # what names have before "with" is their kind
        ("libraries", "how many accidents were there in total", "“total” adds up to 22 over the 2 rows"),
        (
            "laptops",
            "what is the most expensive laptop",
            "Of the 2 rows of stock.csv with model Laptop 14 or",
        ),
        (
            "sold",
            "what is the cheapest product",
            "Of the 2 rows of goods.csv, this has the lowest “price”: Mat",
        ),
        # one row has nothing to be compared with
        ("libraries", "which early shift has the most staff", None),
        # letters name rows, columns hold items, and sheets that are no longer valid do not count
        ("crates", "total cost of all A crates", "adds up to £17.10 over the 2 rows of crates.xlsx (Crates)"),
        ("crates", "total cost of all crates of size a", "“cost” adds up to £17.10 over the 2 rows"),
        ("crates", "total cost of the f crates", "“cost” adds up to £21.60 over the one row"),
        ("crates", "total cost of the B crates", None),  # of size or grade B?
        ("crates", "average cost of a crate", "“cost” of the 4 rows of crates.xlsx (Crates) is £12.95"),
        (
            "crates",
            "which items are in the gift box",
            "\n- Tea: pack 80 bags, 1 (A1), gift box yes, green\n- Fish",
        ),
        ("crates", "what is in A1", "The 3 rows of crates.xlsx (Contents) with A1"),
        # a column of results, or of several units
        ("towns", "what is the median age in Ebbing?", None),
        ("lengths", "what is the longest part?", None),
        ("members", "what is the total fee?", "adds up to 50"),  # beside cells without words
        ("dated", "most expensive repair", ": 2023-02-14: work boiler, firm Pavo, cost 42"),
        # a row that its key names needs no other condition
        ("pumps", "how many pumps P-2 are in stock", "with part P-2:\n- Pump for oil"),
        # the oldest has the highest age, unless a date is asked for; its other numbers do not say when
        ("people", "who has the oldest age", "highest “age”: Bo"),
        ("people", "who is the youngest of the staff", "lowest “age”: Ada"),
        ("people", "which staff has the oldest start date", "earliest “start date”: Bo"),
        ("counted", "which city has the oldest visitors", None),
        # no other column stands in for one that cannot be added up
        ("counted", "what is the average role", None),
        ("counted", "how many roles are there", "2 different values of “role”"),
        # a cell in capitals is no stop word
        ("people", "how many people work in IT", "2 of the 3 rows of staff.csv have team IT: Ada, Cy"),
        ("people", "how many people is it", None),
        ("people", "list ALL staff", "The 3 rows of staff.csv"),
        # what is denied is what no row has, and a column of yes is counted where the rows are
        ("shop", "how many invoices are not paid?", "2 of the 4 rows of invoices.csv have status open:"),
        ("repairs", "which repairs aren't paid?", "The 2 rows of repair costs 2023 2024.csv with paid no:"),
        ("repairs", "which repairs are not in house E?", "with house not E:"),
        (
            "repairs",
            "how many repairs are paid?",
            "3 of the 5 rows of repair costs 2023 2024.csv have paid yes",
        ),
        ("repairs", "which repairs were not in 2023?", None),
        ("counted", "how many nurses are not in Rome?", None),
        # a number alone does not say what it names
        ("plots", "how many plots are paid?", "have paid yes: Plot 1, Plot 3"),
        ("plots", "which plot has the highest rent?", ": Plot 3: rent £9"),
        # numbers with a decimal comma, and dates in other forms, where the column shows which
        ("forms", "what is the average price", "is 434,45 €: Mill 1.249,00 €, Saw 39,90 €, Awl 14,45 €"),
        ("forms", "which tool has the highest weight", "Saw: weight 1,3 kg"),
        ("forms", "which tools cost less than 39,90 euros", "The one row of tools.csv with price less than"),
        ("forms", "which tool was bought first", "earliest “bought”: Saw"),
        ("forms", "which tool was checked last", None),  # in March or in April?
        ("forms", "which tools were built in March 2023", "with built March 2023:\n- Saw"),
        ("forms", "which tool was built first", "earliest “built”: Mill"),
        # the numbers of orders are not added up
        ("orders", "what is the total of all orders", "“total” adds up to £12 over"),
        # a comparison is a condition on the column of its unit, its measure, or the words beside it
        ("shop", "which courses last longer than 5 weeks?", "with weeks longer than 5 weeks:\n- Pottery"),
        ("shop", "what courses cost at most 120 euros", "2 rows of prices.md (Courses) with fee at most 120"),
        ("shop", "how many invoices are over £240.50", "2 of the 4 rows of invoices.csv have amount over"),
        (
            "shop",
            "total amount of invoices between 1 and 20 February",
            "adds up to £1,986.00 over the 2 rows",
        ),
        ("shop", "latest invoice before March 2024", "latest “date”: INV-103"),
        ("shop", "which invoices came after 5 pm", None),
        ("people", "who is over 30", "with age over 30:\n- Bo: age 57, start date 2003-01-15"),
        ("people", "who started before 2019", "with start date before 2019:\n- Bo"),
        ("people", "who retired before 2019", None),
        # the conversation is no table
        ("people", "what did i ask first", None),
        ("people", "what was my first question", None),
        ("people", "what was your last answer", None),
        (
            "people",
            "which people have a start date since 2019",
            "2 rows of staff.csv with start date since 2019",
        ),
        ("club", "which members pay 60 pounds or more", "\n- Ben Okoro: rent £60\n- Cara Lund: rent £90"),
        (
            "club",
            "who has a phone and a rent over 50",
            "one row of club.csv with rent over 50 and phone:\n- Cara",
        ),
        # "who" asks for rows, and "no" for empty cells or those that say so
        (
            "club",
            "who has paid?",
            "The 2 rows of club.csv with paid yes:\n- Ada Moss: coach Jo Marsh\n- Cara",
        ),
        ("club", "who works remotely", "with remote yes:\n- Ben Okoro: coach Jo Marsh\n- Cara"),
        ("club", "who has no phone?", "The one row of club.csv with no phone:\n- Ben Okoro"),
        ("club", "who has not paid", "with paid no:\n- Ben Okoro"),
        ("club", "who has no dog", None),
        # a name that is denied leaves the other conditions, and others to be counted
        ("club", "which remote members are not Ada Moss", "with member not Ada Moss and remote yes:"),
        ("club", "how many members are not Ada Moss", "2 of the 3 rows of club.csv have member not Ada"),
        ("club", "who is the coach of Ada Moss", None),  # a row says it
        ("club", "when was Ada Moss born", None),
        ("club", "who has the newest plot", "highest “since”: Cara Lund: plot B1, since 2024"),
        # rows are counted by a column
        ("club", "which coach has two members", "with coach two members:\n- Ada Moss: coach Jo Marsh\n- Ben"),
        ("club", "how many members are there", "There are 3 rows in club.csv"),
        # words of people for those of a table; of two prices lists, the newer one is read
        ("shed", "which trimmers can i borrow for less than 6 euros a day", ":\n- Hedge trimmer: Price"),
        ("shed", "dearest tool i can borrow", "highest “Price (€ per day)”: Shredder"),
        ("shed", "which tools can i borrow without any deposit", "with no deposit:\n- Hedge trimmer"),
        ("shed", "dishes under 8 euro without dairy and without nuts", "under 8 euro:\n- Lentil soup"),
        ("shed", "on which rounds don't you drive on fridays", "with no Fri:\n- Knockmore"),
        ("shed", "which bins have stuff that goes off before july", "before july:\n- Oats"),
        (
            "shed",
            "which suppliers came after the 4th of june",
            ":\n- Feeney: day Fri 5 Jun, crates 2\n- Kehoe",
        ),
        ("shed", "in which months did the north make more than 13 thousand", ":\n- June: north 14.2"),
        # but not for those that say which rows are meant
        ("shed", "which silent trimmers can i borrow for less than 6 euros a day", None),
        ("shed", "dearest tool for a tall hedge", None),
        ("shed", "heaviest tool i can borrow", None),
        ("shed", "which saw came to you last", None),
        ("shed", "which suppliers have a day before 5 june 2026", None),
        ("forms", "which tools cost more than 1.000 euros", None),
        ("shed", "dearest tool a child may borrow", None),
        ("shed", "which bins were filled before july", None),
        # a cell may be spelt like a part of a column's name
        ("tickets", "how many open tickets are there", "2 of the 7 rows"),
    ],
)
def test_rows_are_those_that_the_question_means_and_doubtful_ones_are_left_to_the_reader(
    ask: Ask, documents: str, question: str, said: str | None
) -> None:
    found = ask(documents, question)
    text = re.sub(r" \[\d\]", "", found.text) if found else ""
    assert said in text if said else not text


def test_a_table_of_totals_alone_is_read_in_linear_time() -> None:
    cells = (("Region", "North"), ("Kind", "Total"), ("Amount", "5"))
    table = WholeTable([NamedRow(cells, candidate("", start=i), i, i + 1) for i in range(1_000)])
    started = time.process_time()
    asked = read_table_question("what is the total amount?", "sum", "", table)
    assert asked is not None and len(asked.rows) == 1_000
    assert time.process_time() - started < 5


def test_the_newest_of_a_series_is_read_unless_its_year_is_asked_for() -> None:
    names = ["north/sales-2025.csv", "south/sales-2026.csv", "fees-2025.csv", "fees-2026.xlsx", "notes.md"]
    cells = (("Item", "Ladder"),)
    tables = [WholeTable([NamedRow(cells, candidate("Ladder", source=name), 0, 6)]) for name in names]
    for question, left_out in (("the cheapest", "fees-2025.csv"), ("the cheapest in 2025", "")):
        latest = of_latest_editions(question, tables)
        assert {table.rows[0].chunk["source"] for table in latest} == set(names) - {left_out}


def test_long_cells_are_not_searched_for_dates() -> None:
    rows = [NamedRow((("Item", f"{i}"), ("Note", 20_000 * "word ")), candidate(""), i, i) for i in range(2)]
    started = time.process_time()
    assert not column_dates(rows, "Note")
    assert time.process_time() - started < 1


@pytest.mark.parametrize(("rows", "tables"), [(100, 1), (800, 0)])
def test_a_table_with_columns_for_each_row_is_read_up_to_a_limit(rows: int, tables: int) -> None:
    chunks = [
        {**candidate(f"name: tern\nfield {i}: 5", start=100 * i), "metadata": {"row": i}} for i in range(rows)
    ]
    assert len(collect_tables(SimpleNamespace(chunks=lambda: chunks))) == tables


def test_rows_that_begin_with_fields_of_their_own_are_collected_in_linear_time() -> None:
    chunks = [
        {**candidate(f"field {i}: 5\nname: tern", start=100 * i), "metadata": {"row": i}}
        for i in range(4_000)
    ]
    started = time.process_time()
    assert not collect_tables(SimpleNamespace(chunks=lambda: chunks))
    assert time.process_time() - started < 2

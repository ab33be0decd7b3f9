"""Writes the direction from plain statements to views among sentence vectors: python -m training.views.

The mean of what praises or blames (the predicates of training/sentiment.py) minus the mean of what only
tells: history, description, definition, number, rule. The latter were written for this purpose, and all are
said of a few bare subjects. No data set is read.
"""

from __future__ import annotations

import numpy as np

from adaptive_rag.models.onnx import Vectors, load_minilm
from adaptive_rag.rank.stances import VIEWS
from training.sentiment import PREDICATES, SUBJECTS

STATEMENTS = """
was founded in 1921
was introduced after the war
was completed after four years of work
began in the sixth century
was first described by its author in a book
was moved to another building in the same year
was named after a river
was renamed in 1987
was bought by a company from the north
was discovered by two brothers
was signed by both parties in June
ended when the last member died
became part of the county
was written in Latin and translated into French
was elected for a term of five years
is located in the north of the country
is 12 metres long and 3 metres wide
has 40 members
consists of three parts
is divided into two sections
is made of stone and wood
is also known under another name
is a kind of plant with small white flowers
is the name of a method in geometry
refers to the number of items in a list
is defined as the sum of two numbers
means that each value is counted once
is found in many countries
is used in hospitals and schools
is one of several types
belongs to the county
contains a list of names
lies between two rivers
is held every year in June
can be found on page 12
is shown in the figure below
costs 38 pounds a year
rose from 11 to 14 percent within three years
was 2.4 million in the last quarter
takes about 15 minutes
begins at nine and ends at five
must be returned by Friday
must be signed by the tenant
must be handed in on the form of the office
may be carried over until the end of March
applies to all applicants
applies to persons under the age of 18
is paid on the last day of the month
is available for a period of 12 months
is due within 30 days
requires a written notice
must not be used after ten in the evening
may not be kept in the flat without consent
is not permitted in the rooms
is forbidden on the premises
is not insured by the landlord
is allowed for at most two weeks
is open from Monday to Saturday
can be switched off in the settings
is sent by post or by email
was approved at the last meeting
was put off until April
is the responsibility of the clerk
was carried out in two stages
has been measured at four places
is connected to the main line
moves along the outer edge
occurs at low temperatures
is produced by adding water
follows from the second equation
was a pupil of the same teacher
studied medicine at the university
worked for the newspaper until 1950
lived in a town near the border
published three volumes of letters
"""


def view_direction() -> Vectors:
    """Return the unit vector from plain statements to views, shape (dimension,)."""
    views = [predicate for line in PREDICATES.strip().splitlines() for predicate in line.split(" | ")]
    judging, telling = (
        load_minilm().encode(
            [f"{subject.capitalize()} {said}." for subject in SUBJECTS for said in predicates]
        )
        for predicates in (views, STATEMENTS.strip().splitlines())
    )
    direction = judging.mean(axis=0) - telling.mean(axis=0)
    return np.asarray(direction / np.linalg.norm(direction), dtype=np.float32)


if __name__ == "__main__":
    np.save(VIEWS, view_direction())

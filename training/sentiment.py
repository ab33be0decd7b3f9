"""Writes the direction from blame to praise in the space of the embedded model: python training/sentiment.py.

It is the mean vector of praising sentences minus that of blaming ones. The sentences are pairs of opposite
predicates, which were written for this purpose, with a few neutral subjects. No data set is read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adaptive_rag.models.onnx import Vectors, load_minilm
from adaptive_rag.rank.agreement import SENTIMENT

SUBJECTS = ("it", "this", "this practice", "such a policy", "the proposal")
# Sentences about these subjects are closer to blame, whatever their predicate.
BANS = ("a ban", "banning it", "abolishing it", "its abolition", "prohibiting it", "restricting it")
PREDICATES = """
saves lives | costs lives
makes people healthier | makes people ill
protects the most vulnerable | harms the most vulnerable
is fair to everyone | is deeply unfair
strengthens the economy | damages the economy
creates jobs | destroys jobs
reduces crime | leads to more crime
is good for the environment | is bad for the environment
is a basic human right | violates basic human rights
strengthens democracy | undermines democracy
makes society safer | puts the public in danger
encourages creativity and innovation | stifles creativity and innovation
helps children to learn | hinders children's education
brings communities together | divides communities
is worth the money | is a waste of money
works well in practice | does not work in practice
should be allowed | should not be allowed
is necessary | is unnecessary
is morally right | is morally wrong
can be justified | cannot be justified
prevents suffering | causes suffering
empowers women | discriminates against women
lifts people out of poverty | pushes people into poverty
increases personal freedom | restricts personal freedom
has proved successful in other countries | has failed in other countries
promotes equality | deepens inequality
respects individual choice | takes choice away from individuals
is effective | is ineffective
solves the problem | makes the problem worse
gives hope to the poor | exploits the poor
is affordable | is far too expensive
builds trust in government | erodes trust in government
benefits the whole of society | only benefits a few
improves the quality of life | lowers the quality of life
is supported by the evidence | is not supported by the evidence
is the best option available | is worse than the alternatives
contributes to peace and stability | leads to conflict and instability
improves relations between countries | damages relations between countries
deters criminals | does not deter criminals
protects the privacy of citizens | invades the privacy of citizens
protects free speech | is a threat to free speech
encourages responsible behaviour | encourages irresponsible behaviour
is an important part of our culture | is an outdated tradition
respects religious beliefs | offends religious beliefs
gives the public what it wants | goes against the will of the people
makes government more accountable | lets government escape accountability
raises standards | lowers standards
attracts talented people | drives talented people away
increases efficiency | leads to inefficiency and bureaucracy
helps the victims | ignores the victims
gives people a second chance | lets offenders off too lightly
is realistic and achievable | is unrealistic and impossible to enforce
has many advantages | has many disadvantages
is backed by good reasons | is met by good objections
has benefits that outweigh its risks | has risks that outweigh its benefits
upholds the rule of law | is illegal under international law
is natural and harmless | is unnatural and dangerous
is a legitimate duty of the state | is not the business of the state
reduces corruption | breeds corruption
is good for families | is bad for families
helps developing countries | hurts developing countries
improves mental health | causes stress and depression
treats people with dignity | is an insult to human dignity
prevents abuse | is open to abuse
is reliable and accurate | is unreliable and often wrong
encourages competition and lowers prices | reduces competition and raises prices
protects workers | exploits workers
sets a good example | sets a bad example
is popular with voters | is unpopular with voters
makes the country stronger | makes the country weaker
will succeed | is bound to fail
helps to fight terrorism | fuels terrorism
is humane | is cruel and inhumane
increases tolerance and understanding | increases hatred and prejudice
deserves more support | deserves no support
makes people happier | makes people miserable
is a success story | is a proven failure
is essential for the future | is a thing of the past
is the responsible choice | is reckless
gives minorities a voice | silences minorities
"""


def sentiment_direction() -> Vectors:
    """Return the unit vector from blame to praise, shape (dimension,)."""
    praise, blame = _embed(SUBJECTS)
    direction = praise.mean(axis=0) - blame.mean(axis=0)
    return np.asarray(direction / np.linalg.norm(direction), dtype=np.float32)


def ban_lean(direction: Vectors) -> float:
    """Return the mean sentiment of sentences about bans, half of which praise and half of which blame."""
    return float((np.concatenate(_embed(BANS)) @ direction).mean())


def _embed(subjects: Sequence[str]) -> tuple[Vectors, Vectors]:
    pairs = [line.split(" | ") for line in PREDICATES.strip().splitlines()]
    praise, blame = (
        load_minilm().encode([f"{s.capitalize()} {pair[side]}." for s in subjects for pair in pairs])
        for side in (0, 1)
    )
    return praise, blame


if __name__ == "__main__":
    direction = sentiment_direction()
    np.save(SENTIMENT, direction)
    print(f"BAN_LEAN = {ban_lean(direction):.2f}")

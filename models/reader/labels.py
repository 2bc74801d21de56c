"""The labels of names, and the entity subtype of each label.

The subtypes themselves are labels, to which every data set is mapped; the finer labels are those that some data set
distinguishes. Labels of what is no entity (positions, nominals such as 他妈妈, goods such as 帽子, employers such as
公司, which name no particular thing) have no subtype. None of the data sets marks times.
"""

from memory.values.understanding.mentions import EntitySubtype

SUBTYPES: tuple[EntitySubtype, ...] = tuple(EntitySubtype)
"""The labels that are subtypes; the first ones of `LABELS`."""

FINE_LABELS: dict[str, EntitySubtype | None] = {
    "company": EntitySubtype.ORGANISATION,
    "government": EntitySubtype.ORGANISATION,
    "association": EntitySubtype.ORGANISATION,
    "group": EntitySubtype.ORGANISATION,
    "brand": EntitySubtype.ORGANISATION,
    "address": EntitySubtype.PLACE,
    "scene": EntitySubtype.PLACE,
    "gpe": EntitySubtype.PLACE,
    "location": EntitySubtype.PLACE,
    "game": EntitySubtype.WORK,
    "movie": EntitySubtype.WORK,
    "book": EntitySubtype.WORK,
    "television": EntitySubtype.WORK,
    "model": EntitySubtype.CODE,
    "employer": None,
    "goods": None,
    "position": None,
    "misc": None,
    "person_nominal": None,
    "organisation_nominal": None,
    "gpe_nominal": None,
    "location_nominal": None,
    "nationality": None,
    "ethnicity": None,
    "degree": None,
    "profession": None,
}
"""The finer labels, each with its subtype."""

LABELS: tuple[str, ...] = (*(subtype.value for subtype in SUBTYPES), *FINE_LABELS)


def subtype_of(label: str) -> EntitySubtype | None:
    """The subtype of a label.

    Raises:
        ValueError: There is no such label.
    """
    return FINE_LABELS[label] if label in FINE_LABELS else EntitySubtype(label)

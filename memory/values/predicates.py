"""The predicates of facts (chat corpus; document 002 §3): what conversation says of people and things."""

ONE_VALUED = frozenset(
    {
        "name", "age", "birthday", "gender", "hometown", "lives_in", "address", "phone", "email", "works_at",
        "occupation", "studies_at", "major", "spouse", "partner", "manager", "located_in", "stored_in", "price", "size",
        "version", "quantity", "deadline", "warranty", "code", "colour", "status", "scheduled_at", "blood_type",
        "weight", "height",
    }
)  # fmt: skip
"""Predicates that hold one value at a time: a newer one replaces it."""

MANY_VALUED = frozenset(
    {
        "nickname", "nationality", "graduated_from", "commutes_by", "child", "parent", "sibling", "relative", "friend",
        "colleague", "teacher", "roommate", "neighbour", "pet", "knows", "likes", "dislikes", "favourite", "prefers",
        "diet", "eats", "allergic_to", "hobby", "wants", "goal", "habit", "rule", "skill", "speaks", "instrument",
        "certificate", "learning", "owns", "uses", "drives", "bought", "sold", "lost", "lent_to", "borrowed_from",
        "subscribes_to", "brand", "made_by", "part_of", "member_of", "works_on", "responsible_for", "supports",
        "depends_on", "replaced_by", "attended", "visited", "met", "happened", "plans", "travels_to", "condition",
        "medication", "doctor",
    }
)  # fmt: skip

OTHER = "other"
"""A relation without a predicate of its own."""

PREDICATES: tuple[str, ...] = (*sorted(ONE_VALUED | MANY_VALUED), OTHER)

"""Columns of cases: types with their sizes, and the settings that a package may declare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from harness.packages import Value as Setting
from values.meanings import Column

Maker = Callable[[Random], Column]

# Formats with digit directives that touch, and other formats.
TOUCHING_DATES = (
    "%Y%m%d %d%m%Y %m%d%Y %y%m%d %d%m%y %m%d%y %Y%j %y%j %e%m%Y %d%m/%Y %Y-%m%d".split()
)
DATES = (
    *"%d.%m.%Y %d/%m/%Y %m/%d/%Y %d.%m.%y %Y.%m.%d %F %D %e.%m.%Y %-d/%-m/%Y %Y-%j".split(),
    *"%b-%d-%Y %d-%B-%Y %Y/%m-%d %d%b%Y %d%b%y".split(),
    *("%d %b %Y", "%A, %d %B %Y", "%a %d.%m.%y", "%d %m %Y", "%B %e, %Y"),
)
TOUCHING_TIMES = "%H%M%S %H%M %H%M%S%.f %H%M%S%3f %I%M%p %H%M:%S".split()
TIMES = (
    *"%H:%M:%S %H:%M %H.%M.%S %T %R %H:%M:%S%.f %I:%M%p %k:%M %Hh%M %H:%M:%S.%f %I:%M:%S%P".split(),
    *("%I:%M %p", "%l:%M %p", "%H %M %S"),
)
OFFSETS = ("%z", "%:z", " %z")
ZONES = ("Europe/Vienna", "America/New_York", "UTC", "Asia/Kolkata", "Australia/Lord_Howe")
INTERVAL_FIELDS = (
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "second",
    "year to month",
    "day to hour",
    "day to minute",
    "day to second",
    "hour to minute",
    "hour to second",
    "minute to second",
)
MARKERS = ("NA", "NULL", "-", "0", "", "n/a", "1900-01-01")


def _integer(random: Random) -> Column:
    kind = random.choice(("int2", "int4", "int8"))
    return Column(kind, kind, settings=_number_form(random, rounds=True))


def _float(random: Random) -> Column:
    kind, name = random.choice((("float4", "real"), ("float8", "double precision")))
    settings = _number_form(random, rounds=False)
    if random.random() < 0.3:
        settings["lossless"] = random.random() < 0.5
    if random.random() < 0.1:
        settings["nan"] = "null"
    return Column(kind, name, settings=settings)


def _numeric(random: Random) -> Column:
    settings = _number_form(random, rounds=False)
    if random.random() < 0.25:
        return Column("numeric", "numeric", settings=settings)
    precision = random.choice((1, 3, 5, 9, 15, 18, 19, 28, 38, 39, 60))
    scale = random.choice((0, 1, 2, 3, 6, precision, precision // 2))
    if random.random() < 0.08:
        scale = random.choice((-2, precision + 2))
    if random.random() < 0.3:
        settings["round"] = random.choice(("half_up", "half_even", "down"))
    return Column("numeric", f"numeric({precision},{scale})", (precision, scale), settings=settings)


def _number_form(random: Random, *, rounds: bool) -> dict[str, Setting]:
    settings: dict[str, Setting] = {}
    if random.random() < 0.35:
        decimal, group = random.choice(
            (
                (",", "."),
                (",", " "),
                (".", ","),
                (",", None),
                (".", "'"),
                (".", "_"),
                (",", "\u00a0"),
            )
        )
        if decimal != ".":
            settings["decimal_separator"] = decimal
        if group is not None:
            settings["group_separator"] = group
    if random.random() < 0.15:
        settings["negative"] = random.choice(("parentheses", "trailing"))
    if random.random() < 0.15:
        settings["lossless"] = True
    if rounds and random.random() < 0.2:
        settings["round"] = random.choice(("half_up", "half_even", "down"))
    return settings


def _money(_: Random) -> Column:
    return Column("money", "money")


def _moment(random: Random) -> Column:
    kind = random.choice("date date time time timestamp timestamptz timetz".split())
    sizes: tuple[int, ...] = ()
    name = kind
    if kind != "date" and random.random() < 0.4:
        sizes = (random.choice((0, 1, 3, 6)),)
        name = f"{kind}({sizes[0]})"
    settings: dict[str, Setting] = {}
    if kind == "timetz":
        return Column(kind, name, sizes)
    if kind == "timestamptz" and random.random() < 0.6:
        settings["zone"] = random.choice(ZONES)
    if random.random() < 0.75:
        chosen = [_format(random, kind, "zone" in settings)]
        if random.random() < 0.15:
            chosen.append(_format(random, kind, "zone" in settings))
        settings["format"] = chosen if len(chosen) > 1 else chosen[0]
        if any("%y" in one or "%D" in one for one in chosen):
            settings["year_pivot"] = random.choice((1970, 1950, 2000, 1901))
    if kind != "date" and random.random() < 0.15:
        settings["round"] = random.choice(("half_up", "half_even", "down"))
    return Column(kind, name, sizes, settings=settings)


def _format(random: Random, kind: str, has_zone: bool) -> str:
    date = random.choice(TOUCHING_DATES if random.random() < 0.55 else DATES)
    time = random.choice(TOUCHING_TIMES if random.random() < 0.55 else TIMES)
    if kind == "date":
        return date
    if kind == "time":
        return time
    if kind == "timestamptz" and random.random() < 0.05:
        return "%s"
    joint = random.choice((" ", "T", "", "_", " "))
    text = date + joint + time
    if kind == "timestamptz" and (not has_zone or random.random() < 0.3):
        text += random.choice(OFFSETS)
    return text


def _interval(random: Random) -> Column:
    if random.random() < 0.35:
        sizes = (random.choice((0, 3, 6)),) if random.random() < 0.4 else ()
        return Column("interval", f"interval{f'({sizes[0]})' if sizes else ''}", sizes)
    fields = random.choice(INTERVAL_FIELDS)
    sizes = (random.choice((0, 2)),) if fields.endswith("second") and random.random() < 0.5 else ()
    return Column("interval", f"interval {fields}{f'({sizes[0]})' if sizes else ''}", sizes, fields)


def _text(random: Random) -> Column:
    settings: dict[str, Setting] = {}
    kind = random.choice(("text", "varchar", "varchar", "char", "name", '"char"'))
    if kind in ("text", "name", '"char"'):
        return Column(kind, kind, settings=settings)
    size = random.choice((1, 3, 8))
    if random.random() < 0.3:
        settings["on_truncate"] = random.choice(("truncate", "reject"))
    return Column(kind, f"{kind}({size})", (size,), settings=settings)


def _boolean(random: Random) -> Column:
    if random.random() < 0.4:
        return Column(
            "bool",
            "boolean",
            settings={"true_words": ["ja", "J", "1"], "false_words": ["nein", "N", "0"]},
        )
    return Column("bool", "boolean")


def _plain(random: Random) -> Column:
    kind = random.choice(("uuid", "bytea", "json", "jsonb"))
    return Column(kind, kind)


def _bits(random: Random) -> Column:
    if random.random() < 0.5:
        size = random.choice((1, 3, 9))
        return Column("bit", f"bit({size})", (size,))
    sizes = (random.choice((3, 9)),) if random.random() < 0.5 else ()
    return Column("varbit", f"bit varying{f'({sizes[0]})' if sizes else ''}", sizes)


LABELS = ("sad", "so so", "Happy", "Ünï 'quoted'")


def _enum(_: Random) -> Column:
    words = ", ".join("'" + one.replace("'", "''") + "'" for one in LABELS)
    return Column("enum", "mood", labels=LABELS, before=f"CREATE TYPE mood AS ENUM ({words})")


def _array(random: Random) -> Column:
    maker = random.choice((_numeric, _moment, _text, _float, _integer, _interval, _boolean, _enum))
    element = replace(maker(random), settings={})
    return Column(
        "array", f"{element.type_name}[]", element=element, labels=element.labels,
        before=element.before,
    )  # fmt: skip


def _domain(random: Random) -> Column:
    maker = random.choice((_numeric, _text, _interval, _money, _array))
    element = maker(random)
    name = "d_" + "".join(one if one.isalnum() else "_" for one in element.type_name)
    return Column(
        "domain", name, element=element, settings=element.settings,
        before=f"{element.before + '; ' if element.before else ''}"
        f"CREATE DOMAIN {name} AS {element.type_name}",
    )  # fmt: skip


# How often each kind is drawn.
MAKERS: tuple[tuple[Maker, int], ...] = (
    (_moment, 12),
    (_integer, 2),
    (_float, 3),
    (_numeric, 3),
    (_money, 1),
    (_interval, 4),
    (_text, 3),
    (_boolean, 1),
    (_plain, 2),
    (_bits, 1),
    (_enum, 1),
    (_array, 3),
    (_domain, 1),
)


def columns(random: Random, count: int) -> list[Column]:
    """Return this number of columns, with each kind among them if there are enough."""
    each = [maker for maker, _ in MAKERS]
    more = random.choices(each, [often for _, often in MAKERS], k=max(count - len(each), 0))
    makers = (each + more)[:count]
    random.shuffle(makers)
    return [_column(random, maker) for maker in makers]


def _column(random: Random, maker: Maker) -> Column:
    made = maker(random)
    settings = dict(made.settings)
    base = made.element if made.kind == "domain" and made.element else made
    # The rules of arrays decide about their blanks, so `trim` is refused for them.
    if base.kind != "array" and random.random() < 0.15:
        settings["trim"] = random.choice(("start", "end", "both"))
        if random.random() < 0.4:
            settings["trim_quoted"] = True
    if random.random() < 0.2:
        settings["null"] = random.choice((False, "NA", random.sample(MARKERS, 2)))
    return replace(made, settings=settings)

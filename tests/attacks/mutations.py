"""How an input is changed: trees of JSON, bytes, and columns of a database.

Everything is drawn from the generator that is handed in, so that its seed makes the same input
again. For that, what is drawn first stays first.
"""

import json
import re
import sqlite3

# Empty, with control characters, long, what a shell or a table or a path may take amiss, numbers
# out of range, quantities with units, JSON in a text, and half of a character.
TEXTS = [
    "", " ", "\0", "\x1b[2J", "\u009b31m", "\u202e", "漢" * 30, "a" * 300,
    "=1+1", "$(id)", "'; DROP TABLE x;--", "../../etc/passwd", "/dev/zero",
    "-1", "1e400", "nan", "inf", "0 B", "64 GiB", "5 GB/s", "1e30 GiB", "9" * 40,
    "{}", "[]", "\ud800",
]
NUMBERS = [
    0, -1, 1, 2, 0.5, -0.0, 1e-300, 1e300, 1e15,
    2**31, 2**32, 2**53, 2**63, 2**64 - 1, 2**64, -(2**63),
]
# What means something to a reader of JSON, or is no UTF-8.
TOKENS = [
    b"NaN", b"Infinity", b"-Infinity", b"1e400", b"null", b"true", b"{}", b"[]", b'""',
    b"\xff\xfe", b"\xed\xa0\x80", b"\0", b"/*", b"//", b"#", b"\xef\xbb\xbf", b",", b'"', b"'''",
    b"\\u0000", b"\\ud800", b"[" * 80, b"0" * 400,
]
# The columns of a database, by table, that hold what the program reads again.
COLUMNS = {
    "spaces": ["name", "axes", "objectives", "constraints", "id"],
    "scenarios": ["verdict", "reason", "numbers"],
    "space_points": ["key", "point", "verdict", "reason", "objectives"],
    "results": ["result"],
    "bases": ["base"],
    "runs": ["host", "points"],
    "axis_values": ["value", "overrides"],
}


def encode(text):
    """Returns the bytes of a text, of a lone surrogate, too, which is no valid UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def paths(tree, path=()):
    """Yields the path of every value in a tree of JSON; of a list, only of the first 50."""
    yield path
    if isinstance(tree, dict):
        for key in tree:
            yield from paths(tree[key], path + (key,))
    elif isinstance(tree, list):
        for index in range(min(len(tree), 50)):
            yield from paths(tree[index], path + (index,))


def other_text(draw, old):
    """Returns the text with another number at its start ("64 GiB"), else with another end."""
    number = re.match(r"[0-9.]+", old)
    if number:
        return str(draw.choice(NUMBERS)) + old[number.end() :]
    return old + draw.choice(TEXTS)


def other_value(draw, old):
    """Returns a value of JSON to stand where `old` stood."""
    kind = draw.randrange(8)
    if kind == 0:
        return draw.choice(NUMBERS)
    if kind == 1:
        return draw.choice(TEXTS)
    if kind == 2:
        return [old]
    if kind == 3:
        return {"a": old}
    if kind == 4:
        return draw.choice([None, True, False, [], {}])
    if kind == 5 and isinstance(old, str):
        return other_text(draw, old)
    if kind == 6 and isinstance(old, (int, float)):
        return old * draw.choice([-1, 0.1, 2, 1000, 10**9])
    return [old] * draw.choice([2, 100])


def mutate_tree(draw, tree):
    """Changes up to four values of a tree of JSON in place; returns it as bytes."""
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        path = draw.choice(list(paths(tree)))
        if not path:
            continue
        parent = tree
        for step in path[:-1]:
            parent = parent[step]
        last = path[-1]
        action = draw.randrange(6)
        if action == 0:
            del parent[last]
        elif action == 1 and isinstance(parent, dict):
            parent[draw.choice(TEXTS)] = parent[last]
        else:
            parent[last] = other_value(draw, parent[last])
    return encode(json.dumps(tree, ensure_ascii=draw.random() < 0.5))


def mutate_bytes(draw, data):
    """Returns the bytes with up to 16 places flipped, cut, doubled or written over."""
    data = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 4, 16])):
        if not data:
            data += b"{"
        at = draw.randrange(len(data))
        action = draw.randrange(7)
        if action == 0:
            data[at] ^= 1 << draw.randrange(8)
        elif action == 1:
            data[at:at] = draw.choice(TOKENS)
        elif action == 2:
            del data[at : at + draw.choice([1, 2, 8, 64])]
        elif action == 3:
            del data[at:]
        elif action == 4:
            data[at:at] = data[at : at + draw.choice([4, 64, 512])]
        elif action == 5:
            data[at] = draw.randrange(256)
        else:
            text = encode(draw.choice(TEXTS))
            data[at : at + draw.choice([1, 4])] = text
    return bytes(data)


def mutate_json(draw, data):
    """Returns JSON with other values, or with other bytes; the latter if it cannot be read."""
    if draw.random() < 0.6:
        try:
            return mutate_tree(draw, json.loads(data))
        except (ValueError, RecursionError):
            pass
    return mutate_bytes(draw, data)


def edit_database(draw, path):
    """Writes another value into one column of a table, in all of its rows.

    A value that the table's own constraints refuse leaves the database as it was.
    """
    connection = sqlite3.connect(path)
    table = draw.choice(list(COLUMNS))
    column = draw.choice(COLUMNS[table])
    row = connection.execute("SELECT %s FROM %s LIMIT 1" % (column, table)).fetchone()
    text = draw.choice(TEXTS).encode("utf-8", "replace")
    cut = str(row[0] if row else "")[: draw.randrange(1, 200)]
    values = [None, "", "x", "[1]", "{}", "null", "7", '{"a": [' * 80, b"\xff\xfe", text, cut]
    values += ["[[]]", '["("]', '[["a"]]', "\x1b[2J\u009b31m\u202e"]
    value = draw.choice(values)
    try:
        connection.execute("UPDATE %s SET %s = ?" % (table, column), (value,))
        connection.commit()
    except sqlite3.Error:
        pass
    connection.close()

# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""What --check --json has printed, held against its section of dlock(1).

check_json.py MANUAL EXPRESSION <OUTPUT: OUTPUT is an array of one object that has the members that the
manual names, in its order and of its types; EXPRESSION, of Python with the object as `s`, its features
by name as `f` and the codes of its reasons as `codes`, is true.
"""
import json
import re
import sys

TYPES = {"string": str, "number": int, "array": list, "boolean": bool, "null": type(None)}


def read_manual(path):
    """The list of the section, and the features that it names."""
    text = open(path, encoding="utf-8").read()
    section = re.search(r"^\.Ss The check as JSON\n(.*?)^\.Sh ", text, re.S | re.M).group(1)
    items = re.findall(r"^\.It Li (\w+) No \((.*)\)$", section, re.M)
    features = re.search(r"^\.Po Li (.*) Pc ,$", section, re.M).group(1).split(" , ")
    assert len(items) == 39 and len(features) == 11, (items, features)
    return [(name, types.split(" or ")) for name, types in items], features


def unique(pairs):
    """An object whose members are not there twice."""
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), names
    return dict(pairs)


def main():
    """See above."""
    members, features = read_manual(sys.argv[1])
    text = sys.stdin.buffer.read().decode("utf-8", errors="strict")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), "a control character"
    array = json.loads(text, object_pairs_hook=unique)
    assert len(array) == 1 and text.endswith("]\n") and text.count("\n") == 1, text
    server = array[0]
    assert list(server) == [name for name, _ in members], list(server)
    for name, types in members:
        assert type(server[name]) in [TYPES[each] for each in types], (name, server[name], types)
    assert server["verdict"] in ("good", "works but", "unfit")
    for reason in server["reasons"]:
        assert list(reason) == ["code", "text", "fatal"], reason
        assert re.fullmatch("[a-z-]+", reason["code"]), reason
        assert isinstance(reason["fatal"], bool)
    fatal = [reason["fatal"] for reason in server["reasons"]]
    assert fatal == sorted(fatal, reverse=True), "the fatal ones first"
    assert server["verdict"] == ("unfit" if any(fatal) else "works but" if fatal else "good")
    assert [each["feature"] for each in server["features"]] == features, server["features"]
    for each in server["features"]:
        assert list(each) == ["feature", "works", "why", "missing"], each
        assert each["works"] in (True, False, None) and isinstance(each["missing"], list), each
    names = {
        "s": server,
        "f": {each["feature"]: each for each in server["features"]},
        "codes": [reason["code"] for reason in server["reasons"]],
    }
    assert eval(sys.argv[2], names), text[:6000]


main()

# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""What --json has printed, held against the section JSON of dlock(1).

lock_json.py MANUAL EXPRESSION <OUTPUT: OUTPUT is an array of locks that have the members that the
manual names, in its order and of its types; EXPRESSION, of Python with the array as `a` and its first
as `l`, is true.
"""
import json
import re
import sys

TYPES = {"string": str, "number": int, "array": list, "object": dict, "null": type(None)}


def read_manual(path):
    """The three lists of the section: of a lock, of a holder or waiter, of --break."""
    text = open(path, encoding="utf-8").read()
    section = re.search(r"^\.Ss JSON\n(.*?)^\.Sh ", text, re.S | re.M).group(1)
    lists = []
    for block in re.findall(r"^\.Bl (.*?)^\.El", section, re.S | re.M):
        items = re.findall(r"^\.It Li (\w+) No \((.*)\)$", block, re.M)
        lists.append([(name, types.split(" or ")) for name, types in items])
    assert [len(each) for each in lists] == [8, 13, 3], lists
    return lists


def check(thing, members):
    """Has `thing` these members?"""
    assert list(thing) == [name for name, _ in members], list(thing)
    for name, types in members:
        assert type(thing[name]) in [TYPES[each] for each in types], (name, thing[name], types)


def unique(pairs):
    """An object whose members are not there twice."""
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), names
    return dict(pairs)


def main():
    """See above."""
    lock, party, breaking = read_manual(sys.argv[1])
    text = sys.stdin.buffer.read().decode("utf-8", errors="strict")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), "a control character"
    array = json.loads(text, object_pairs_hook=unique)
    assert text == "[]\n" or text.count("\n") == len(array), "not a line each"
    for each in array:
        check(each, lock + breaking if "result" in each else lock)
        assert each["state"] in "free held shared slots done broken foreign".split()
        for one in each["holders"] + each["waiters"] + each.get("taken_from", []):
            check(one, party)
            assert one["state"] in "held granted done broken foreign waiting".split()
            assert one["since"] is None or re.fullmatch(
                r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one["since"])
            assert one["broken_by"] is None or list(one["broken_by"]) == ["host", "pid", "user"]
    first = array[0] if array else None
    assert eval(sys.argv[2], {"a": array, "l": first}), text[:4000]


main()

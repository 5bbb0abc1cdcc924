# SPDX-License-Identifier: MIT
"""words.py FILE [TIMES] - the ten most frequent words of a text, read once or several times.

The words are counted by a query of SQLite, which is written in C and calls back into Python."""
import re
import sqlite3
import sys


def read_words(path):
    with open(path, encoding="utf-8") as file:
        return re.findall(r"[a-z]+", file.read().lower())


def stem(word):
    for ending in ("ing", "ed", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)]
    return word


def count(words):
    base = sqlite3.connect(":memory:")
    base.create_function("stem", 1, stem)
    base.execute("create table word (text)")
    base.executemany("insert into word values (?)", ([word] for word in words))
    return base.execute("""select count(*) as times, stem(text) as stem from word
                           group by stem order by times desc, stem limit 10""").fetchall()


def main(path, times=1):
    for times, word in count(read_words(path) * int(times)):
        print(f"{times:7} {word}")


main(*sys.argv[1:])

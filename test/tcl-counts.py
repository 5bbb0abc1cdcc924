#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tcl-counts.py TALLYTREE FIRST COUNT [MODE] - programs made at random, and where and how often each
# of their statements runs.
#
# A program is made twice from one tree: as it is, and with a call of [cnt] before each statement.
# The places are known from writing it, the counts from running the second with Tcl's own shell.
# Both have to be what the profile of the first says; and all three have to print the same.
import csv
import io
import os
import random
import subprocess
import sys
import tempfile

tallytree, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
mode = sys.argv[4] if len(sys.argv) > 4 else "statements"


class Script(list):
    """Statements, each a list of texts and scripts; how they are written around."""
    def __init__(self, statements, before, after, lines, is_word=False):
        super().__init__(statements)
        self.before, self.after, self.lines, self.is_word = before, after, lines, is_word


def one_line(*statements):
    return Script(statements, "{", "}", False)


def on_lines(*statements):
    return Script(statements, "{\n", "\n}", True)


class Lead(str):
    """What is before a statement and no part of it."""


class Program:
    def __init__(self, script, counted):
        self.text, self.counted, self.places, self.number = io.StringIO(), counted, [], 0
        self.size = 0
        self.script(script)

    def put(self, text):
        self.text.write(text)
        self.size += len(text)

    def script(self, s):
        self.put(s.before if s.before or not (s.is_word and self.counted) else "{")
        for i, statement in enumerate(s):
            while isinstance(statement[0], Lead):
                self.put(statement[0])
                statement = statement[1:]
            number, self.number = self.number, self.number + 1
            if self.counted:
                self.put("::cnt %d; " % number)
            start = self.size
            place = [number, start, 0]
            self.places.append(place)
            for part in statement:
                if isinstance(part, Script):
                    self.script(part)
                else:
                    self.put(part)
            last = i == len(s) - 1
            if not last or not s.before and not s.is_word:
                self.put("\n" if s.lines else "; ")
            ended = 1 if last and s.after[:1] == "\n" else 0 if last or s.lines else -1
            place[2] = self.size - start + ended  # with what ends it, but for the blank behind that
        self.put(s.after if s.after or not (s.is_word and self.counted) else "}")


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0

    def name(self):
        self.names += 1
        return self.names

    def pick(self, *of):
        return self.random.choice(of)

    def gap(self):
        """Between words: a blank, or now and then a line that is continued."""
        return " " if self.random.random() < 0.85 else self.pick(" \\\n", " \\\n        ", " \\\n\t  ")

    def words(self, *words):
        parts = []
        for i, w in enumerate(words):
            parts += ([self.gap()] if i else []) + (w if isinstance(w, list) else [w])
        return parts

    def body(self, depth, most=3, kept=False, first=None):
        statements = [self.statement(depth) for _ in range(self.random.randint(1, most))]
        if kept:  # no other text is like this one
            statements.insert(0, ["set u%d 0" % self.name()])
        if first:
            statements.insert(0, first)
        lines = self.random.random() < 0.5
        if lines and self.random.random() < 0.3:
            i = self.random.randrange(len(statements))
            statements[i] = [self.comment()] + statements[i]
        return Script(statements, "{\n    " if lines else "{", "\n}" if lines else "}", lines)

    def comment(self):
        return Lead(self.pick("# not [late 1]; {incr a}\n    ", "# goes on \\\n    incr a\n    ", "\n\n    ", ";; ", "# \u00e9\n"))

    def bracket(self, depth):
        return Script([self.value(depth)], "[", "]", False)

    def value(self, depth):
        """A statement that has a number for its result."""
        x = self.pick("a", "b", "c")
        if depth > 0 and self.random.random() < 0.3:
            return self.words("late", [self.bracket(depth - 1)])
        return self.pick(self.words("late", "$" + x), self.words("set", x), self.words("$late", "3"),
                         self.words("incr", x), self.words("expr", "{$%s + 1}" % x),
                         self.words("llength", "$log"), self.words("string", "length", "abc"))

    def guarded(self, statement):
        return self.words("catch", [Script([statement], "{", "}", False)], "message")

    def forget(self, *words):
        return self.guarded([" ".join(words)])

    def simple(self, depth):
        x = self.pick("a", "b", "c")
        return self.pick(
            self.words("incr", x), self.words("set", x, [self.bracket(depth)]), self.words("lappend", "log", "$" + x),
            self.words("late", [self.bracket(depth)]), self.words("set", x, ['"', self.bracket(depth), '"']),
            self.words("$late", "$" + x), self.words("append", "text", x), self.words("set", x, "7"), self.words("append", "text", '"\u00e9\u2192"'),
            self.words("set", ["v(", self.bracket(0), ")"], "1"),
            self.words("if", "1", [Script([["set u%d 0" % self.name()]], '"', '"', False)]), ["incr a ;"[:self.pick(6, 7)]],
            self.words("lassign", "{1 2 3}", x), self.words("late", ["{*}", self.bracket(depth)]))

    def statement(self, depth):
        if depth <= 0 or self.random.random() < 0.3:
            return self.simple(max(depth, 0))
        kind = self.pick("if", "foreach", "for", "while", "switch", "catch", "try", "eval", "uplevel", "time", "apply",
                         "dict", "lmap", "proc", "redefined", "renamed", "traced", "ensemble", "class", "coroutine",
                         "child", "namespace", "loop", "expr", "kept", "constructed", "nested", "variable", "subst",
                         "tail", "unknown", "control", "stepped", "lambda", "sorted", "mixed", "word", "within", "grown", "held")
        return getattr(self, "make_" + kind)(depth - 1)

    def test(self, depth):
        return ["{", self.bracket(depth), " %s %d}" % (self.pick("<", ">", "!="), self.random.randint(0, 6))]

    def make_if(self, d):
        return self.words("if", self.test(d), [self.body(d)], "elseif", self.test(d), [self.body(d)], "else", [self.body(d)])

    def make_foreach(self, d):
        return self.words("foreach", "x%d" % d, "{1 2 3}", [self.body(d)])

    def make_for(self, d):
        i = "i%d" % self.name()
        return self.words("for", [Script([["set %s 0" % i]], "{", "}", False)], "{$%s < 3}" % i,
                          [Script([["incr %s" % i]], "{", "}", False)], [self.body(d)])

    def make_while(self, d):
        w = "w%d" % self.name()
        return self.words("if", "1", [Script([["set %s 3" % w], self.words("while", "{$%s > 0}" % w, [self.body(d, first=["incr %s -1" % w])])],
                                             "{\n", "\n}", True)])

    def make_loop(self, d):
        w = "w%d" % self.name()
        return self.words("if", "1", [Script([["set %s 3" % w], self.words("while", "1", [
            Script([["incr %s -1" % w], self.words("if", "{$%s < 0}" % w, [Script([["break"]], "{", "}", False)]),
                    self.statement(d), self.words("if", "{$%s == 1}" % w, [Script([["continue"]], "{", "}", False)]), self.statement(d)],
                   "{\n", "\n}", True)])], "{\n", "\n}", True)])

    def make_switch(self, d):
        return self.words("switch", [self.bracket(d)], ["{ 1 ", self.body(d), " 2 - 3 ", self.body(d), " default ", self.body(d), " }"])

    def make_catch(self, d):
        body = self.body(d)
        if self.random.random() < 0.5:
            body.append(["error oops"])
            body.append(["set never 1"])
        return self.words("catch", [body], "message")

    def make_try(self, d):
        body = self.body(d)
        body.append(self.pick(["error x"], ["throw {A B} y"], ["late 1"]))
        return self.words("try", [body], "trap", "{A B}", "{m}", [self.body(d)], "on", "error", "{m}", [self.body(d)], "finally", [self.body(d)])

    def make_eval(self, d):
        return self.words("eval", [self.body(d)])

    def make_uplevel(self, d):
        return self.words("uplevel", "0", [self.body(d)])

    def make_time(self, d):
        return self.words("time", [self.body(d, kept=True)], "2")

    def make_apply(self, d):
        body = self.body(d, first=["lassign {late {}} late log"], kept=True)
        return self.words("apply", ["{{a b c} ", body, "}"], "1", "2", "3")

    def make_dict(self, d):
        return self.words("dict", "for", "{k v}", "{p 1 q 2}", [self.body(d)])

    def make_lmap(self, d):
        return self.words("set", "l", [Script([self.words("lmap", "z", "{1 2}", [self.body(d)])], "[", "]", False)])

    def make_expr(self, d):
        return self.words("set", "a", [Script([self.words("expr", ["{", self.bracket(d), " + (", self.bracket(d), " ? ", self.bracket(d), " : ", self.bracket(d), ")}"])], "[", "]", False)])

    def make_subst(self, d):
        return self.words("set", "s", [Script([self.words("subst", ["{a ", self.bracket(d), " $b ", self.bracket(d), "}"])], "[", "]", False)])

    def procedure(self, name, d, **more):
        return self.words("proc", name, "{a b c}", [self.body(d, first=["lassign {late {}} late log"], **more)])

    def make_proc(self, d):
        name = "p%d" % self.name()
        return self.words("if", "1", [Script([self.procedure(name, d), self.words(name, "1", "2", [self.bracket(d)]), [name + " 4 5 6"]], "{\n", "\n}", True)])

    def make_redefined(self, d):
        name = "p%d" % self.name()
        return self.words("foreach", "k", "{1 2}", [Script(
            [self.procedure(name, d), [name + " 1 2 3"], self.procedure(name, d), [name + " 4 5 6"]], "{\n", "\n}", True)])

    def make_renamed(self, d):
        name = "p%d" % self.name()
        return self.words("foreach", "k", "{1 2 3}", [Script(
            [self.procedure(name, d), [name + " 1 2 3"], ["rename %s q%s" % (name, name)], ["q%s 4 5 6" % name],
             ["rename q%s {}" % name]], "{\n", "\n}", True)])

    def make_traced(self, d):
        name = "p%d" % self.name()
        return self.words("if", "1", [Script(
            [self.procedure(name, d), [name + " 1 2 3"], ["trace add execution %s enter noop" % name], [name + " 4 5 6"],
             self.statement(d), ["trace remove execution %s enter noop" % name], self.statement(d)], "{\n", "\n}", True)])

    def make_variable(self, d):
        name = "t%d" % self.name()
        return self.words("if", "1", [Script(
            [self.words("proc", name, "{args}", [Script([["incr ::n"], ["return"]], "{", "}", False)]), ["set v%s 1" % name],
             ["trace add variable v%s write %s" % (name, name)], ["set v%s 2" % name], ["incr v" + name]], "{\n", "\n}", True)])

    def make_ensemble(self, d):
        name = "e%d" % self.name()
        return self.words("if", "1", [Script(
            [self.forget("namespace", "delete", "::" + name), self.words("namespace", "eval", "::" + name, [Script(
                [self.procedure("one", d), self.procedure("two", d), ["namespace export one two"], ["namespace ensemble create"]], "{\n", "\n}", True)]),
             ["::%s one 1 2 3" % name], ["namespace ensemble configure ::%s -map {x ::%s::two}" % (name, name)], ["::%s x 1 2 3" % name],
             self.statement(d)], "{\n", "\n}", True)])

    def make_namespace(self, d):
        name = "n%d" % self.name()
        return self.words("namespace", "eval", "::" + name, [Script(
            [["lassign {1 2 3 {} late} a b c log late"], ["variable v%s 1" % name],
             self.procedure("p", d), ["p 1 2 3"], self.statement(d)], "{\n", "\n}", True)])

    def make_nested(self, d):
        name = "p%d" % self.name()
        return self.words("if", "1", [Script(
            [self.words("proc", name, "{a b c}", [Script(
                [["lassign {late {}} late log"], self.procedure("in" + name, d), ["in%s 1 2 3" % name], self.statement(d)], "{\n", "\n}", True)]),
             [name + " 1 2 3"], [name + " 1 2 3"]], "{\n", "\n}", True)])

    def make_class(self, d):
        name = "::K%d" % self.name()
        begin = ["lassign {1 2 3 late {}} a b c late log"]
        return self.words("if", "1", [Script(
            [self.forget(name, "destroy"), self.words("oo::class", "create", name, [Script(
                [self.words("constructor", "{}", [self.body(d, first=begin, kept=True)]), self.words("method", "m", "{}", [self.body(d, first=begin)]),
                 self.words("method", "n", "{}", [one_line(["set u%d 0" % self.name()], ["my m"], ["my m"])]),
                 self.words("destructor", [self.body(d, first=begin, kept=True)])], "{\n", "\n}", True)]),
             self.words("set", "o", [Script([[name + " new"]], "[", "]", False)]), ["$o m"], ["$o n"], ["$o destroy"]], "{\n", "\n}", True)])

    def make_constructed(self, d):
        name = "::K%d" % self.name()
        begin = ["lassign {1 2 3 late {}} a b c late log"]
        return self.words("if", "1", [Script(
            [self.forget(name, "destroy"), ["oo::class create %s" % name], self.words("oo::define", name, "method", "m", "{x}", [self.body(d, first=begin)]),
             self.words("oo::class", "create", name + "b", [Script([["superclass " + name], self.words("method", "m", "{x}", [
                 Script([["set u%d 0" % self.name()], ["next $x"], ["next 2"]], "{", "}", False)])], "{\n", "\n}", True)]),
             self.words("set", "o", [Script([[name + "b new"]], "[", "]", False)]), ["$o m 1"], [name + " destroy"]], "{\n", "\n}", True)])

    def make_coroutine(self, d):
        name = "co%d" % self.name()
        return self.words("if", "1", [Script(
            [self.words("proc", "g" + name, "{}", [Script(
                [["lassign {1 2 3 late {}} a b c late log"], ["yield"], self.words("foreach", "y", "{1 2}", [
                    Script([self.statement(d), ["yield $y"], self.statement(d)], "{\n", "\n}", True)]), ["return end"]], "{\n", "\n}", True)]),
             self.forget("rename", name, "{}"), ["coroutine %s g%s" % (name, name)], self.words("while", ["{", Script([[name]], "[", "]", False), " ne \"end\"}"], [self.body(d)])], "{\n", "\n}", True)])

    def make_child(self, d):
        name = "i%d" % self.name()
        return self.words("if", "1", [Script(
            [self.forget("interp", "delete", name), ["interp create " + name], ["interp alias %s ::cnt {} ::cnt" % name], ["interp alias %s late {} late" % name],
             ["interp alias %s noop {} noop" % name],
             self.words(name, "eval", [Script([["lassign {1 2 3 {} late 0} a b c log late n"], self.statement(d), self.procedure("p", d), ["p 1 2 3"]], "{\n", "\n}", True)]),
             ["interp delete " + name]], "{\n", "\n}", True)])

    BEGIN = "lassign {1 2 3 late {}} a b c late log"

    def make_tail(self, d):
        name = "p%d" % self.name()
        return self.words("if", "1", [on_lines(
            self.words("proc", name, "{a b c}", [on_lines(["lassign {late {}} late log"], self.statement(d), self.words("tailcall", "late", [self.bracket(d)]))]),
            [name + " 1 2 3"], self.words("set", "a", [Script([[name + " 1 2 3"]], "[", "]", False)]))])

    def make_unknown(self, d):
        name = "n%d" % self.name()
        return self.words("namespace", "eval", "::" + name, [on_lines(
            [self.BEGIN], self.procedure("handler", d), ["namespace unknown ::%s::handler" % name], ["nosuch 1 2"], self.statement(d))])

    def make_control(self, d):
        """A command that runs what it is given."""
        name = "c%d" % self.name()
        return self.words("if", "1", [on_lines(
            self.words("proc", name, "{script}", [one_line(["set u%d 0" % self.name()], ["uplevel 1 $script"])]),
            self.words(name, [self.body(d, kept=True)]), self.words("foreach", "k", "{1 2}", [one_line(self.words(name, [self.body(d, kept=True)]))]))])

    def make_stepped(self, d):
        """Without commands in expressions: Tcl compiles those for itself while steps are traced."""
        name = "p%d" % self.name()
        return self.words("if", "1", [on_lines(
            self.procedure(name, 0), [name + " 1 2 3"], ["trace add execution %s {enterstep leavestep} noop" % name], [name + " 4 5 6"],
            ["trace remove execution %s {enterstep leavestep} noop" % name], [name + " 4 5 6"])])

    def make_lambda(self, d):
        name = "co%d" % self.name()
        body = self.body(d, first=[self.BEGIN], kept=True)
        body.insert(1, ["yield 1"])
        return self.words("if", "1", [on_lines(
            self.forget("rename", name, "{}"), self.words("coroutine", name, "apply", ["{{} ", body, "}"]), self.statement(d), self.guarded([name]))])

    def make_sorted(self, d):
        name = "p%d" % self.name()
        compare = ["expr {$x - $y}"]
        return self.words("if", "1", [on_lines(
            self.words("proc", name, "{x y}", [one_line([self.BEGIN], self.statement(d), compare)]), ["lsort -command %s {3 1 2}" % name],
            self.words("lsort", "-command", ["{apply {{x y} ", one_line(["set u%d 0" % self.name()], compare), "}}"], "{3 1 2}"))])

    def make_mixed(self, d):
        name = "::K%d" % self.name()
        return self.words("if", "1", [on_lines(
            self.forget(name, "destroy"), self.forget(name + "m", "destroy"), self.words("oo::class", "create", name, [on_lines(
                self.words("method", "m", "{}", [self.body(d, first=[self.BEGIN])]), self.words("method", "unknown", "args", [one_line(["set u%d 0" % self.name()])]))]),
            self.words("oo::class", "create", name + "m", [on_lines(
                self.words("method", "m", "{}", [one_line(["set u%d 0" % self.name()], ["next"])]), self.words("method", "f", "args", [one_line(["set u%d 0" % self.name()], ["next {*}$args"])]))]),
            self.words("set", "o", [Script([[name + " new"]], "[", "]", False)]),
            ["oo::objdefine $o mixin %sm" % name], ["$o m"], ["oo::objdefine $o filter f"], ["$o m"],
            self.words("oo::objdefine", "$o", "method", "own", "{}", [self.body(d, first=[self.BEGIN], kept=True)]), ["$o own"], ["$o no such"])])

    def make_word(self, d):
        return self.words("foreach", "k", "{1 2 3}", [on_lines(
            self.statement(d), self.words("if", "{$k == 2}", [Script([[self.pick("continue", "break")]], "", "", False, True)]), self.statement(d))])

    def make_within(self, d):
        """A child of a child, whose procedures are made and called from here."""
        name = "i%d" % self.name()
        both = "{%s in}" % name
        return self.words("if", "1", [on_lines(
            self.forget("interp", "delete", name), ["interp create " + name], ["interp create " + both],
            *[["interp alias %s %s {} %s" % (both, of, of)] for of in ("::cnt", "late", "noop")],
            self.words("interp", "eval", both, [on_lines([self.BEGIN], self.procedure("p", d), self.statement(d))]),
            self.words("interp", "eval", both, [Script([["list p 1 2 3"]], "[", "]", False)]), ["interp delete " + name])])

    def make_grown(self, d):
        """It calls itself."""
        name = "p%d" % self.name()
        return self.words("if", "1", [on_lines(
            self.words("proc", name, "{n a b c}", [on_lines(["lassign {late {}} late log"], self.statement(d),
                       self.words("if", "{$n > 0}", [one_line(["incr n -1"], [name + " $n 1 2 3"])]))]),
            [name + " 3 1 2 3"])])

    def make_held(self, d):
        """It returns from within, and what is last runs."""
        name = "p%d" % self.name()
        return self.words("if", "1", [on_lines(
            self.words("proc", name, "{a b c}", [on_lines(["lassign {late {}} late log"], self.words("try", [on_lines(
                self.statement(d), self.words("if", self.test(d), [one_line(["return 1"])]), self.statement(d))], "finally", [self.body(d)]))]),
            [name + " 1 2 3"], [name + " 4 5 6"])])

    def make_kept(self, d):
        return self.words("if", "1", [Script(
            [["set body%d 0" % d], self.words("after", "0", [self.body(d, kept=True, first=["lassign {1 2 3 late {}} a b c late log"])]),
             ["update"]], "{\n", "\n}", True)])


PRELUDE = "proc cnt {id} { incr ::hits($id) }\nproc late {x {y 0}} { incr ::n; return [string length $x] }\nproc noop {args} {}\n"
SETTING = "lassign {1 2 3 0 {} {} late} a b c n log text late\n"
ENDING = "\nputs \"$n [regsub {^[0-9.]+ micro} $message {}] [llength $log] [string length $text] $a $b $c\"\n"
COUNTS = "set out [open $::env(HITS) w]; foreach {id k} [array get hits] { puts $out \"$id $k\" }; close $out\n"


def make(seed, counted):
    m = Maker(seed)
    main = Script([m.guarded(m.statement(3)) for _ in range(6)] + [m.procedure("top", 3)] +
                  [m.guarded(m.words("top", *args)) for args in ("123", "456")], "", "", True)
    p = Program(main, counted)
    before = PRELUDE + SETTING
    return before + p.text.getvalue() + ENDING + (COUNTS if counted else ""), [(n, a + len(before), l) for n, a, l in p.places]


def run(words, **more):
    env = dict(os.environ, LC_ALL="C.UTF-8", **more)
    return subprocess.run(words, capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL, env=env)


def check(seed, folder):
    plain, places = make(seed, False)
    counted, _ = make(seed, True)
    for name, text in (("plain.tcl", plain), ("counted.tcl", counted)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    hits = os.path.join(folder, "hits")
    own = run(["tclsh8.6", os.path.join(folder, "counted.tcl")], HITS=hits)
    bare = run(["tclsh8.6", os.path.join(folder, "plain.tcl")])
    ours = run([tallytree, "tcl", "-o", os.path.join(folder, "p.tt"), "--mode", mode, os.path.join(folder, "plain.tcl")])
    wrong = []
    if bare.returncode or own.stdout != bare.stdout:
        wrong.append("the program is not one: " + bare.stderr + own.stderr)
    if ours.stdout != bare.stdout or ours.returncode != bare.returncode:
        wrong.append("it prints something else: " + ours.stdout + ours.stderr)
    with open(hits) as f:
        counts = {int(n): int(k) for n, k in (line.split() for line in f)}
    rows, profile = {}, os.path.join(folder, "p.tt")
    report = run([tallytree, "report", "tdk", "--csv", profile]).stdout
    for r in csv.DictReader(io.StringIO(report)):
        key = int(r["CmdCharIndex"]), int(r["CmdLength"])
        if r["Filename"].endswith("/plain.tcl"):
            rows[key] = rows.get(key, 0) + int(r["NrCallsToCmd"])
            if plain.count("\n", 0, key[0]) + 1 != int(r["CmdLine"]):
                wrong.append("%s is on line %s, they say" % (key, r["CmdLine"]))
    for n, at, length in places:
        want, got = counts.get(n, 0), rows.pop((at, length), 0)
        if want != got:
            wrong.append("%d %d: %d, and ran %d times: %s" % (at, length, got, want, plain[at:at + 60].split("\n")[0]))
    end = len(plain) - len(ENDING)
    for (at, length), calls in rows.items():
        if len(PRELUDE + SETTING) <= at < end and calls:
            wrong.append("%d %d: %d calls of no statement: %r" % (at, length, calls, plain[at:at + 60]))
    report = run([tallytree, "report", "flat", "--csv", "--limit", "all", profile]).stdout
    for r in csv.DictReader(io.StringIO(report)):  # Tcl has some of its own that are in no file
        if r["file"].startswith(("[eval]", "[lambda")) and r["calls"] != "0" and r["name"].replace("...", "") in plain:
            wrong.append("elsewhere: " + str(r))
    if wrong:
        print("# seed %d" % seed, *["# " + w.replace("\n", "\n# ") for w in wrong[:8]], sep="\n")
    return not wrong, len(places), sum(counts.values())


good = statements = ran = 0
for seed in range(first, first + count):
    with tempfile.TemporaryDirectory() as folder:
        ok, places, calls = check(seed, folder)
    good, statements, ran = good + ok, statements + places, ran + calls
print("# %d of %d programs: %d statements ran %d times" % (good, count, statements, ran))
sys.exit(good != count)

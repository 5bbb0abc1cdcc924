# SPDX-License-Identifier: MIT
# tcl_places.py - where the statements of a Tcl file are, by a separate reader: it knows Tcl's
# words, and which words of which commands are scripts, expressions, or lists of scripts.
#
# Places are characters of the file; a length has the newline or semicolon that ends a statement.
import re

SPACE = " \t\v\f\r"


class Word:
    def __init__(self, kind, start, end, expands):
        self.kind, self.start, self.end, self.expands = kind, start, end, expands
        self.plain = True  # nothing in it is substituted

    def inside(self):
        return (self.start + 1, self.end - 1) if self.kind != "bare" else (self.start, self.end)


class Reader:
    def __init__(self, text):
        self.text = text
        self.statements = []  # (start, length, whether it is a word without braces)
        self.script(0, len(text))

    # ── Tcl's syntax ──

    def joins(self, at, end):
        return self.text[at] == "\\" and at + 1 < end and self.text[at + 1] == "\n"

    def skip_space(self, at, end):
        while at < end and (self.text[at] in SPACE or self.joins(at, end)):
            at += 2 if self.joins(at, end) else 1
        return at

    def skip_comment(self, at, end):
        while at < end and self.text[at] != "\n":
            at += 2 if self.text[at] == "\\" else 1
        return at

    def braces(self, at, end):
        """Behind the brace that closes the one at AT."""
        depth = 0
        while at < end:
            c = self.text[at]
            depth += (c == "{") - (c == "}")
            at += 2 if c == "\\" else 1
            if not depth:
                return at
        raise ValueError("a brace is open")

    def variable(self, at, end, word):
        """Behind the dollar at AT and its name."""
        if at + 1 < end and self.text[at + 1] == "{":
            word.plain = False
            return self.text.index("}", at) + 1
        name = re.compile(r"(?:\w|::+)*", re.A).match(self.text, at + 1, end).end()
        word.plain = word.plain and name == at + 1
        if name < end and self.text[name] == "(":
            word.plain = False
            return self.substituted(name + 1, end, ")", word) + 1
        return max(name, at + 1)

    def substituted(self, at, end, stop, word):
        while at < end and self.text[at] not in stop:
            c = self.text[at]
            if self.joins(at, end) and " " in stop:
                break
            if c == "\\":
                word.plain = False
                at += 2
            elif c == "$":
                at = self.variable(at, end, word)
            elif c == "[":
                word.plain = False
                at = self.script(at + 1, end, True) + 1
            else:
                at += 1
        return min(at, end)

    def word(self, at, end, stop):
        expands = self.text.startswith("{*}", at) and at + 3 < end and \
            self.text[at + 3] not in SPACE + "\n" + stop
        at += 3 if expands else 0
        c = self.text[at]
        w = Word("brace" if c == "{" else "quote" if c == '"' else "bare", at, 0, expands)
        if c == "{":
            w.end = self.braces(at, end)
        elif c == '"':
            w.end = self.substituted(at + 1, end, '"', w) + 1
        else:
            w.end = self.substituted(at, end, SPACE + "\n" + stop, w)
        return w

    def script(self, at, end, nested=False):
        """A script in [at, end); a nested one ends at its bracket, which is returned."""
        stop = ";]" if nested else ";"
        mine = len(self.statements)
        while True:
            while at < end and (self.text[at] in SPACE + "\n;" or self.joins(at, end)):
                at += 2 if self.joins(at, end) else 1
            if at < end and self.text[at] == "#":
                at = self.skip_comment(at, end)
                continue
            if at >= end or nested and self.text[at] == "]":
                break
            at = self.command(at, end, stop)
        if nested and at >= end:
            del self.statements[mine:]
            raise ValueError("a bracket is open")
        return at

    def command(self, start, end, stop):
        mine, words, at = len(self.statements), [], start
        self.statements.append(None)
        while at < end and self.text[at] not in "\n" + stop:
            words.append(self.word(at, end, stop))
            at = self.skip_space(words[-1].end, end)
        ends = at < end and self.text[at] in "\n;"
        self.statements[mine] = (start, at + ends - start, False)
        self.scripts_of(words)
        return at + ends

    # ── What the words of a command are ──

    def literal(self, w):
        return self.text[slice(*w.inside())] if w.plain and not w.expands else None

    def body(self, w):
        """A word that is a script, if it can be read here."""
        if w.kind == "brace" and not w.expands:
            self.script(*w.inside())
        elif w.kind == "bare" and self.literal(w) and re.match("[a-z]+$", self.literal(w)):
            self.statements.append((w.start, w.end - w.start, True))

    def expression(self, w):
        if w.kind == "brace" and not w.expands:
            self.brackets(*w.inside(), True)

    def brackets(self, at, end, is_expression):
        quoted = False
        while at < end:
            c = self.text[at]
            if c == "\\":
                at += 2
            elif c == "[":
                at = self.script(at + 1, end, True) + 1
            elif c == "{" and is_expression and not quoted and self.text[at - 1] != "$":
                at = self.braces(at, end)
            else:
                quoted ^= c == '"' and is_expression
                at += 1

    def elements(self, w):
        """The words of a list in braces."""
        at, end = w.inside()
        found = []
        while True:
            while at < end and self.text[at] in SPACE + "\n":
                at += 1
            if at >= end:
                return found
            if self.text[at] == "{":
                e = Word("brace", at, self.braces(at, end), False)
            else:
                e = Word("bare", at, at, False)
                quoted = self.text[at] == '"'
                e.end += quoted
                while e.end < end and (quoted or self.text[e.end] not in SPACE + "\n"):
                    if quoted and self.text[e.end] == '"':
                        quoted = False
                    e.end += 2 if self.text[e.end] == "\\" else 1
            found.append(e)
            at = e.end

    def scripts_of(self, words):
        name = self.literal(words[0])
        if name is None or any(w.expands for w in words):
            return
        name = name[2:] if name.startswith("::") else name
        do = getattr(self, "do_" + name.replace("::", "_"), None)
        if do:
            do(words[1:])

    def do_proc(self, w):
        if len(w) == 3:
            self.body(w[2])

    def do_if(self, w):
        i = 0
        while i < len(w):
            self.expression(w[i])
            i += 1
            if i < len(w) and self.literal(w[i]) == "then":
                i += 1
            if i < len(w):
                self.body(w[i])
            i += 1
            if i >= len(w):
                return
            if self.literal(w[i]) == "elseif":
                i += 1
                continue
            self.body(w[-1])
            return

    def do_while(self, w):
        if len(w) == 2:
            self.expression(w[0])
            self.body(w[1])

    def do_for(self, w):
        if len(w) == 4:
            self.body(w[0])
            self.expression(w[1])
            self.body(w[2])
            self.body(w[3])

    def do_foreach(self, w):
        if len(w) >= 3:
            self.body(w[-1])

    do_lmap = do_foreach

    def do_expr(self, w):
        if len(w) == 1:
            self.expression(w[0])

    def do_catch(self, w):
        if w:
            self.body(w[0])

    def do_time(self, w):
        self.do_catch(w)

    def do_eval(self, w):
        if len(w) == 1:
            self.body(w[0])

    def do_uplevel(self, w):
        if len(w) == 1 or len(w) == 2 and re.match(r"\\?#?\d+$", self.text[w[0].start:w[0].end]):
            self.body(w[-1])

    def do_try(self, w):
        if w:
            self.body(w[0])
        i = 1
        while i < len(w):
            finally_ = self.literal(w[i]) == "finally"
            i += 1 if finally_ else 3
            if i < len(w) and self.literal(w[i]) != "-":
                self.body(w[i])
            i += 1

    def do_switch(self, w):
        i = 0
        while i < len(w) and (self.literal(w[i]) or "").startswith("-"):
            option = self.literal(w[i])
            i += 2 if option in ("-matchvar", "-indexvar") else 1
            if option == "--":
                break
        pairs = w[i + 1:]
        if len(pairs) == 1 and pairs[0].kind == "brace":
            pairs = self.elements(pairs[0])
        for body in pairs[1::2]:
            self.body(body)

    def do_namespace(self, w):
        if len(w) == 3 and self.literal(w[0]) == "eval":
            self.body(w[2])

    def do_dict(self, w):
        if w and self.literal(w[0]) in ("for", "map", "with", "update"):
            self.body(w[-1])

    def do_apply(self, w):
        if w and w[0].kind == "brace":
            parts = self.elements(w[0])
            if len(parts) > 1:
                self.body(parts[1])

    def do_subst(self, w):
        if len(w) == 1 and w[0].kind == "brace":
            self.brackets(*w[0].inside(), False)

    def do_oo_class(self, w):
        if len(w) == 3 and self.literal(w[0]) == "create":
            self.body(w[2])

    def do_oo_define(self, w):
        if len(w) == 2:
            self.body(w[1])
        elif len(w) > 2 and self.literal(w[1]) in ("method", "constructor", "destructor"):
            self.body(w[-1])

    def do_method(self, w):
        if len(w) == 3:
            self.body(w[2])

    def do_constructor(self, w):
        if len(w) == 2:
            self.body(w[1])

    def do_destructor(self, w):
        if len(w) == 1:
            self.body(w[0])


def find_statements(text):
    """[(index, length, whether it is a word without braces)]"""
    return sorted(Reader(text).statements)


def with_counters(text, first, counter):
    """The text with a COUNTER % NUMBER before each statement."""
    out, at = [], 0
    for n, (start, length, is_word) in enumerate(find_statements(text)):
        out += [text[at:start], "{" if is_word else "", counter % (first + n), "; "]
        at = start
        if is_word:
            at += length
            out += [text[start:at], "}"]
    return "".join(out) + text[at:]

# SPDX-License-Identifier: MIT
# Meson builds Tallytree; these are its everyday commands.
PREFIX = /usr/local
TESTS  = $(basename $(wildcard test/*-test.c test/*-test.cpp))
# Not what switches functions: the sanitizer counts their calls itself.  One has a thread for
# its small stack alone.
THREADED = $(filter-out test/switch-test test/view-edge-test,$(basename $(shell grep -l pthread_create test/*-test.c)))
PROVE  = rm -f .prove && PERL5LIB=test/prove prove --formatter Slowest --state=save --timer --exec test/limit -j$(shell expr $$(nproc) + 1)
ASAN   = -Db_sanitize=address,undefined -Dchecked=true
TSAN   = -Db_sanitize=thread -Dchecked=true
build  = tools/setup $3 && { test -f $1/build.ninja || meson setup $1 $2; } && ninja -C $1 $4
export TT_BUILD = $(CURDIR)/build$(CHECKED)
export UBSAN_OPTIONS = halt_on_error=1:print_stacktrace=1

all:  ; $(call build,build)
demo: all; tools/demo
# With assertions; `make long` is without them, and by the other compiler.
test asan tsan: CHECKED = -checked
again: CHECKED = $(if $(filter long,$(TT_LONG)),-clang,-checked)
checked: ; $(call build,build-checked,-Dchecked=true $(STRICT),test)
# The longest first, so that none is alone in the end.
SLOW = $(patsubst %,test/%.t,push switch wall heap hooks machine web-time web-explore web-axe chain debian-heap lazy web-pages web merge)
test: checked; $(PROVE) $(SLOW) $(TESTS:%=build-checked/%) $(filter-out $(SLOW),$(wildcard test/*.t))
again: ; test -f .prove && prove --state=failed --verbose --exec test/limit
asan: checked; $(call build,build-asan,$(ASAN),test,$(TESTS)) && $(PROVE) $(TESTS:%=build-asan/%)
tsan: checked; $(call build,build-tsan,$(TSAN),test,$(THREADED)) && $(PROVE) $(THREADED:%=build-tsan/%)
bench: all; tools/setup bench && bench/run
fuzz: mutants; tools/setup fuzz && tools/fuzz
mutants: ; $(call build,build-asan,$(ASAN),,tallytree) && tools/mutants build-asan/tallytree 300
# What takes too long for `make test`.
LONG = $(patsubst %,build-clang/test/%-test,crash damage digest filter-edge kill limits naming profile restart \
	sample-log signal since sites space switch-signal threads view view-edge view-tree window)
# What `make test` tries with one seed, size or version.
LONGER = $(patsubst %,test/%.t,agree amalgamation chain crowded-machine debian debian-heap formats-jfr formats-pprof guest heap hidden hooks lazy locks-same merge mpi python \
	replay same scripts switch symbolize toggles unwind wake web-axe)
long longer: export TT_LONG = $@
long: CHECKED = -clang
long: ; export CC=clang CXX=clang++ && $(call build,build-clang,--werror,test) && \
	unset CC CXX && $(PROVE) test/long/*.t $(LONG)
longer: CHECKED = -checked
longer: checked; $(PROVE) $(LONGER)
# What fails beside others runs once more alone.
gate: ; $(foreach part,asan tsan long longer,rm -f .prove && { $(MAKE) $(part) || TT_LONG=$(part:%san=) $(MAKE) again; } &&) \
	$(MAKE) mutants && tools/setup tidy fuzz && tools/tidy HEAD~10 && RUNS=4000 tools/fuzz 60
# Tests of tcllib, whose source is in $TALLYTREE_TCLLIB.
TCLLIB = asn/asn base64/ascii85 csv/csv des/des dns/ipMore fileutil/multiop grammar_fa/dexec \
	html/html htmlparse/htmlparse json/json sha1/sha1 struct/sets struct/tree textutil/adjust
soak: export TT_LONG = soak
soak: all; $(call build,build-asan,$(ASAN),,tallytree) && tools/mutants build-asan/tallytree 20000 && \
	READER=build-asan/tallytree ROUNDS=100 test/growing.t && build/test/soak && RUNS=1000 THREADS=10000 test/guest.t && \
	RUNS=300 test/wake.t && ROUNDS=200 test/replaced.t && TT_DAMAGES=600 test/symbolize.t && \
	TT_RUNS=334 test/locks-same.t && TT_PROGRAMS=600 test/whatif.t && \
	TT_SECONDS=3600 TT_SLICE=3 test/python-stress.t && ROUNDS=52 test/same.t && test/time-shares.t && TT_WALKS=1000 TT_CAPTURES=60 test/replay.t && TT_WALKS=300 TT_SERIES=400 test/space.t && \
	test/tcl-counts.py build/tallytree 1 1000 && { test -z "$$TALLYTREE_TCLLIB" || \
	test/tcl-packages.py build/tallytree "$$TALLYTREE_TCLLIB" $(TCLLIB:%=modules/%.test); } && \
	for t in patch sites switch switch-exception; do TT_TOGGLES=10000 build/test/$$t-test || exit; done; \
	TT_SOAK=1 build/test/window-test && for t in musl aarch64; do TT_SOAK=1 test/long/$$t.t || exit; done && \
	TT_TOGGLES=10000 test/toggles.t && TT_TOGGLES=1 test/hooks.t
tidy: ; tools/setup tidy && tools/tidy
amalgamation: ; tools/amalgamate build/amalgamation
dist: all; tools/dist
package: all; tools/setup package && tools/package
install: all
	meson configure build -Dprefix=$(abspath $(PREFIX)) && meson install -C build
uninstall: ; ninja -C build uninstall
clean: ; rm -rf build build-asan build-checked build-clang build-tsan build-fuzz build-mutants
.PHONY: all demo checked test again asan tsan long bench fuzz mutants gate soak tidy amalgamation dist package install uninstall clean

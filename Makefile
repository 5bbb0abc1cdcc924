# SPDX-License-Identifier: MIT
# Meson builds Tallytree; these are its everyday commands.
PREFIX = /usr/local
TESTS  = $(basename $(wildcard test/*-test.c test/*-test.cpp))
# Not what switches functions: the sanitizer counts their calls itself.
THREADED = $(filter-out test/switch-test,$(basename $(shell grep -l pthread_create test/*-test.c)))
PROVE  = prove --exec test/limit -j$(shell nproc)
ASAN   = -Db_sanitize=address,undefined
TSAN   = -Db_sanitize=thread
build  = tools/setup $3 && { test -f $1/build.ninja || meson setup $1 $2; } && ninja -C $1 $4
export TT_BUILD = $(CURDIR)/build
export UBSAN_OPTIONS = halt_on_error=1:print_stacktrace=1

all:  ; $(call build,build)
demo: all; tools/demo
test: ; rm -f .prove && $(call build,build,,test) && $(PROVE) --state=save $(TESTS:%=build/%) test/*.t
again: ; test -f .prove && prove --state=failed --verbose --exec test/limit
asan: ; $(call build,build-asan,$(ASAN),test,$(TESTS)) && $(PROVE) $(TESTS:%=build-asan/%)
tsan: ; $(call build,build-tsan,$(TSAN),test,$(THREADED)) && $(PROVE) $(THREADED:%=build-tsan/%)
bench: all; tools/setup bench && bench/run
fuzz: ; tools/setup fuzz && tools/fuzz
gate: asan tsan ; tools/setup tidy fuzz && tools/tidy HEAD~10 && RUNS=30000 tools/fuzz 20
soak: all; build/test/soak && RUNS=1000 test/guest.t && \
	for t in patch sites switch switch-exception; do TT_TOGGLES=10000 build/test/$$t-test || exit; done; \
	TT_TOGGLES=10000 test/toggles.t && TT_TOGGLES=1 test/hooks.t
tidy: ; tools/setup tidy && tools/tidy
amalgamation: ; tools/amalgamate build/amalgamation
dist: all; tools/dist
package: all; tools/setup package && tools/package
install: all
	meson configure build -Dprefix=$(abspath $(PREFIX)) && meson install -C build
clean: ; rm -rf build build-asan build-tsan build-fuzz
.PHONY: all demo test again asan tsan bench fuzz gate soak tidy amalgamation dist package install clean

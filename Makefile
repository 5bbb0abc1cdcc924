# SPDX-License-Identifier: MIT
# Meson builds Tallytree; these are its everyday commands.
PREFIX = /usr/local
TESTS  = $(basename $(wildcard test/*-test.c test/*-test.cpp))
PROVE  = prove --exec '' -j$(shell nproc)
ASAN   = -Db_sanitize=address,undefined
TSAN   = -Db_sanitize=thread
build  = tools/setup $3 && { test -f $1/build.ninja || meson setup $1 $2; } && ninja -C $1
export TT_BUILD = $(CURDIR)/build
export UBSAN_OPTIONS = halt_on_error=1:print_stacktrace=1

all:  ; $(call build,build)
demo: all; tools/demo
test: ; $(call build,build,,test) && $(PROVE) $(TESTS:%=build/%) test/*.t
asan: ; $(call build,build-asan,$(ASAN),test) && $(PROVE) $(TESTS:%=build-asan/%)
tsan: ; $(call build,build-tsan,$(TSAN),test) && $(PROVE) $(TESTS:%=build-tsan/%)
bench: all; tools/setup bench && bench/run
fuzz: ; tools/setup fuzz && tools/fuzz
soak: all; build/test/soak && RUNS=1000 test/guest.t
tidy: ; tools/setup tidy && tools/tidy
amalgamation: ; tools/amalgamate build/amalgamation
install: all
	meson configure build -Dprefix=$(abspath $(PREFIX)) && meson install -C build
clean: ; rm -rf build build-asan build-tsan build-fuzz
.PHONY: all demo test asan tsan bench fuzz soak tidy amalgamation install clean

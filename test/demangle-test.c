/* SPDX-License-Identifier: MIT */
/* demangle-test.c - symbols, and their names in the source. */
#include "demangle.h"

#include <stdlib.h>

#include "punycode.h"
#include "rust.h"
#include "source-paths.h"
#include "tap.h"

static void is_called(const char *symbol, const char *name)
{
    char *found = tt_demangle(symbol);

    CHECK_STR(found, name);
    free(found);
}

static void rust_is_called(const char *symbol, const char *name)
{
    char text[4096];

    CHECK_STR(tt_demangle_rust(symbol, text, sizeof text) ? text : "(not Rust)", name);
}

TEST(a_c_symbol_loses_its_version_and_what_compilers_append)
{
    is_called("puts", "puts");
    is_called("memcpy@@GLIBC_2.14", "memcpy");
    is_called("memcpy@GLIBC_2.2.5", "memcpy");
    is_called("work.cold", "work");
    is_called("work.part.0.cold", "work");
    is_called("work.constprop.0.isra.0", "work");
    is_called("work.llvm.1234567", "work");
    is_called("work.lto_priv.3", "work");
    is_called("work.1", "work.1"); /* a static variable's or a nested function's */
    is_called("a.b", "a.b");
    is_called(".cold", ".cold");
    is_called("@plt", "@plt");
    is_called("", "");
    is_called("_", "_");
    is_called("_Zzz", "_Zzz");
}

TEST(cxx_symbols_have_their_parameters)
{
    is_called("_ZNSt6vectorIiSaIiEE9push_backEOi",
              "std::vector<int, std::allocator<int> >::push_back(int&&)");
    is_called("_ZN12_GLOBAL__N_13fooEv.cold", "(anonymous namespace)::foo()");
    is_called("_ZNK3BoxltERKS_.part.0", "Box::operator<(Box const&) const");
}

/* By rustc 1.97 with -C symbol-mangling-version=v0; LLVM's demangler says the same. */
TEST(rust_symbols_of_rfc_2603)
{
    rust_is_called(
        "_RINvCskOGwlKjLXpR_1t3negKan3_Knn80000000000000000000000000000000_EB2_",
        "t::neg::<-3, -0x80000000000000000000000000000000>");
    rust_is_called("_RINvCskOGwlKjLXpR_1tu8gdel_5qaNCNvB2_4mains1_0EB2_",
                   "t::gödel::<t::main::{closure#3}>");
    rust_is_called(
        "_RINvMNtCs8NwYtU1Mohg_4core6optionINtB3_6OptionmE6map_orjNCNvXCskOGwlKjLXpR_"
        "1tINtBX_2SqtKj3_Kb1_Kc27_ENtBX_5Shape5boxed0EBX_",
        "<core::option::Option<u32>>::map_or::<usize, <t::Sq<u16, 3, true, '\\''> as "
        "t::Shape>::boxed::{closure#0}>");
    rust_is_called(
        "_RINvNtCs8NwYtU1Mohg_4core3ptr9drop_glueINtNtCsbEht8wFNRx7_"
        "5alloc5boxed3BoxINtCskOGwlKjLXpR_1t2SqtKj3_Kb1_Kc27_EEEB1d_",
        "core::ptr::drop_glue::<alloc::boxed::Box<t::Sq<u16, 3, true, '\\''>>>");
    rust_is_called(
        "_RINvNtCs8NwYtU1Mohg_4core5array11try_from_fnINtNtNtB4_3ops9try_"
        "trait17NeverShortCircuittEKj3_NCINvMBJ_BG_10wrap_mut_1jNCNvXCskOGwlKjLXpR_"
        "1tINtB1X_2SqtKB1q_Kb1_Kc27_ENtB1X_5Shape4area0E0EB1X_",
        "core::array::try_from_fn::<core::ops::try_trait::NeverShortCircuit<u16>, 3, "
        "<core::ops::try_trait::NeverShortCircuit<u16>>::wrap_mut_1<usize, <t::Sq<u16, "
        "3, true, '\\''> as t::Shape>::area::{closure#0}>::{closure#0}>");
    rust_is_called(
        "_RINvNtCs8NwYtU1Mohg_4core5array11try_from_fnINtNtNtB4_3ops9try_"
        "trait17NeverShortCircuitxEKj2_NCINvMBJ_BG_10wrap_mut_1jNCNvXCskOGwlKjLXpR_"
        "1tINtB1X_2SqxKB1q_Kb0_Kce9_ENtB1X_5Shape4area0E0EB1X_",
        "core::array::try_from_fn::<core::ops::try_trait::NeverShortCircuit<i64>, 2, "
        "<core::ops::try_trait::NeverShortCircuit<i64>>::wrap_mut_1<usize, <t::Sq<i64, "
        "2, false, 'é'> as t::Shape>::area::{closure#0}>::{closure#0}>");
    rust_is_called(
        "_RINvNtCs8NwYtU1Mohg_4core5array18try_from_fn_erasedINtNtNtB4_3ops9try_"
        "trait17NeverShortCircuittENCINvMBQ_BN_10wrap_mut_1jNCNvXCskOGwlKjLXpR_1tINtB20_"
        "2SqtKj3_Kb1_Kc27_ENtB20_5Shape4area0E0EB20_",
        "core::array::try_from_fn_erased::<core::ops::try_trait::NeverShortCircuit<u16>, "
        "<core::ops::try_trait::NeverShortCircuit<u16>>::wrap_mut_1<usize, <t::Sq<u16, "
        "3, true, '\\''> as t::Shape>::area::{closure#0}>::{closure#0}>");
    rust_is_called(
        "_RINvNtCs8NwYtU1Mohg_4core5array18try_from_fn_erasedINtNtNtB4_3ops9try_"
        "trait17NeverShortCircuitxENCINvMBQ_BN_10wrap_mut_1jNCNvXCskOGwlKjLXpR_1tINtB20_"
        "2SqxKj2_Kb0_Kce9_ENtB20_5Shape4area0E0EB20_",
        "core::array::try_from_fn_erased::<core::ops::try_trait::NeverShortCircuit<i64>, "
        "<core::ops::try_trait::NeverShortCircuit<i64>>::wrap_mut_1<usize, <t::Sq<i64, "
        "2, false, 'é'> as t::Shape>::area::{closure#0}>::{closure#0}>");
    rust_is_called("_RINvNtCs8NwYtU1Mohg_4core5array7from_fntKj3_NCNvXCskOGwlKjLXpR_"
                   "1tINtBL_2SqtKBD_Kb1_Kc27_ENtBL_5Shape4area0EBL_",
                   "core::array::from_fn::<u16, 3, <t::Sq<u16, 3, true, '\\''> as "
                   "t::Shape>::area::{closure#0}>");
    rust_is_called("_RINvNtCs8NwYtU1Mohg_4core5array7from_fnxKj2_NCNvXCskOGwlKjLXpR_"
                   "1tINtBL_2SqxKBD_Kb0_Kce9_ENtBL_5Shape4area0EBL_",
                   "core::array::from_fn::<i64, 2, <t::Sq<i64, 2, false, 'é'> as "
                   "t::Shape>::area::{closure#0}>");
    rust_is_called(
        "_RINvYINtNtNtCs8NwYtU1Mohg_4core5slice4iter4IterINtNtCsbEht8wFNRx7_"
        "5alloc5boxed3BoxDNtNtBa_3fmt5DebugNtNtBa_6marker4SendEL_EENtNtNtNtBa_"
        "4iter6traits8iterator8Iterator3mapRB1i_NCNvCskOGwlKjLXpR_1t4main0EB2Q_",
        "<core::slice::iter::Iter<alloc::boxed::Box<dyn core::fmt::Debug + "
        "core::marker::Send>> as core::iter::traits::iterator::Iterator>::map::<&dyn "
        "core::fmt::Debug + core::marker::Send, t::main::{closure#0}>");
    rust_is_called(
        "_RNCINvMNtNtCs8NwYtU1Mohg_4core3ops9try_traitINtB5_17NeverShortCircuittE10wrap_"
        "mut_1jNCNvXCskOGwlKjLXpR_1tINtB1p_2SqtKj3_Kb1_Kc27_ENtB1p_5Shape4area0E0B1p_",
        "<core::ops::try_trait::NeverShortCircuit<u16>>::wrap_mut_1::<usize, <t::Sq<u16, "
        "3, true, '\\''> as t::Shape>::area::{closure#0}>::{closure#0}");
    rust_is_called(
        "_RNCINvMNtNtCs8NwYtU1Mohg_4core3ops9try_traitINtB5_17NeverShortCircuitxE10wrap_"
        "mut_1jNCNvXCskOGwlKjLXpR_1tINtB1p_2SqxKj2_Kb0_Kce9_ENtB1p_5Shape4area0E0B1p_",
        "<core::ops::try_trait::NeverShortCircuit<i64>>::wrap_mut_1::<usize, <t::Sq<i64, "
        "2, false, 'é'> as t::Shape>::area::{closure#0}>::{closure#0}");
    rust_is_called("_RNCNvCskOGwlKjLXpR_1t4main0B3_", "t::main::{closure#0}");
    rust_is_called("_RNCNvCskOGwlKjLXpR_1t4mains0_0B3_", "t::main::{closure#2}");
    rust_is_called("_RNCNvCskOGwlKjLXpR_1t4mains1_0B3_", "t::main::{closure#3}");
    rust_is_called("_RNCNvCskOGwlKjLXpR_1t4mains_0B3_", "t::main::{closure#1}");
    rust_is_called("_RNCNvXCskOGwlKjLXpR_1tINtB4_2SqtKj3_Kb1_Kc27_ENtB4_5Shape4area0B4_",
                   "<t::Sq<u16, 3, true, '\\''> as t::Shape>::area::{closure#0}");
    rust_is_called("_RNCNvXCskOGwlKjLXpR_1tINtB4_2SqtKj3_Kb1_Kc27_ENtB4_5Shape5boxed0B4_",
                   "<t::Sq<u16, 3, true, '\\''> as t::Shape>::boxed::{closure#0}");
    rust_is_called("_RNCNvXCskOGwlKjLXpR_1tINtB4_2SqxKj2_Kb0_Kce9_ENtB4_5Shape4area0B4_",
                   "<t::Sq<i64, 2, false, 'é'> as t::Shape>::area::{closure#0}");
    rust_is_called("_RNSNvYNCNvCskOGwlKjLXpR_1t4mains0_0INtNtNtCs8NwYtU1Mohg_"
                   "4core3ops8function6FnOnceTReQShEE9call_once6vtableB8_",
                   "<t::main::{closure#2} as core::ops::function::FnOnce<(&str, &mut "
                   "[u8])>>::call_once::{shim:vtable#0}");
    rust_is_called("_RNSNvYNCNvCskOGwlKjLXpR_1t4mains_0INtNtNtCs8NwYtU1Mohg_"
                   "4core3ops8function6FnOnceTlEE9call_once6vtableB8_",
                   "<t::main::{closure#1} as "
                   "core::ops::function::FnOnce<(i32,)>>::call_once::{shim:vtable#0}");
    rust_is_called("_RNvCskOGwlKjLXpR_1t4main", "t::main");
    rust_is_called("_RNvMNtNtNtCsfzxCEe6FjLs_9hashbrown7control5group4sse2NtB2_"
                   "5Group44convert_special_to_empty_and_full_to_deletedCskOGwlKjLXpR_1t",
                   "<hashbrown::control::group::sse2::Group>::convert_special_to_empty_"
                   "and_full_to_deleted");
    rust_is_called("_RNvXCskOGwlKjLXpR_1tINtB2_2SqtKj3_Kb1_Kc27_ENtB2_5Shape4areaB2_",
                   "<t::Sq<u16, 3, true, '\\''> as t::Shape>::area");
    rust_is_called("_RNvXCskOGwlKjLXpR_1tINtB2_2SqtKj3_Kb1_Kc27_ENtB2_5Shape5boxedB2_",
                   "<t::Sq<u16, 3, true, '\\''> as t::Shape>::boxed");
    rust_is_called("_RNvXCskOGwlKjLXpR_1tINtB2_2SqxKj2_Kb0_Kce9_ENtB2_5Shape4areaB2_",
                   "<t::Sq<i64, 2, false, 'é'> as t::Shape>::area");
    rust_is_called(
        "_RNvXs0_NtNtNtCs8NwYtU1Mohg_4core4iter8adapters3mapINtB5_3MapINtNtNtBb_"
        "5slice4iter4IterINtNtCsbEht8wFNRx7_5alloc5boxed3BoxDNtNtBb_3fmt5DebugNtNtBb_"
        "6marker4SendEL_EENCNvCskOGwlKjLXpR_1t4main0ENtNtNtB9_"
        "6traits8iterator8Iterator4nextB2F_",
        "<core::iter::adapters::map::Map<core::slice::iter::Iter<alloc::boxed::Box<dyn "
        "core::fmt::Debug + core::marker::Send>>, t::main::{closure#0}> as "
        "core::iter::traits::iterator::Iterator>::next");
    rust_is_called(
        "_RNvXs0_NtNtNtCs8NwYtU1Mohg_4core4iter8adapters3mapINtB5_3MapINtNtNtBb_"
        "5slice4iter4IterINtNtCsbEht8wFNRx7_5alloc5boxed3BoxDNtNtBb_3fmt5DebugNtNtBb_"
        "6marker4SendEL_EENCNvCskOGwlKjLXpR_1t4main0ENtNtNtB9_"
        "6traits8iterator8Iterator9size_hintB2F_",
        "<core::iter::adapters::map::Map<core::slice::iter::Iter<alloc::boxed::Box<dyn "
        "core::fmt::Debug + core::marker::Send>>, t::main::{closure#0}> as "
        "core::iter::traits::iterator::Iterator>::size_hint");
    rust_is_called(
        "_RNvXs8_NtCsbEht8wFNRx7_5alloc5boxedINtB5_3BoxINtCskOGwlKjLXpR_1t2SqtKj3_Kb1_"
        "Kc27_EENtNtNtCs8NwYtU1Mohg_4core3ops4drop4Drop4dropBK_",
        "<alloc::boxed::Box<t::Sq<u16, 3, true, '\\''>> as core::ops::drop::Drop>::drop");
    rust_is_called(
        "_RNvYINtNtNtNtCs8NwYtU1Mohg_4core4iter8adapters3map3MapINtNtNtBb_"
        "5slice4iter4IterINtNtCsbEht8wFNRx7_5alloc5boxed3BoxDNtNtBb_3fmt5DebugNtNtBb_"
        "6marker4SendEL_EENCNvCskOGwlKjLXpR_1t4main0ENtNtNtB9_"
        "6traits8iterator8Iterator10advance_byB2z_",
        "<core::iter::adapters::map::Map<core::slice::iter::Iter<alloc::boxed::Box<dyn "
        "core::fmt::Debug + core::marker::Send>>, t::main::{closure#0}> as "
        "core::iter::traits::iterator::Iterator>::advance_by");
    rust_is_called(
        "_RNvYINtNtNtNtCs8NwYtU1Mohg_4core4iter8adapters3map3MapINtNtNtBb_"
        "5slice4iter4IterINtNtCsbEht8wFNRx7_5alloc5boxed3BoxDNtNtBb_3fmt5DebugNtNtBb_"
        "6marker4SendEL_EENCNvCskOGwlKjLXpR_1t4main0ENtNtNtB9_"
        "6traits8iterator8Iterator3nthB2z_",
        "<core::iter::adapters::map::Map<core::slice::iter::Iter<alloc::boxed::Box<dyn "
        "core::fmt::Debug + core::marker::Send>>, t::main::{closure#0}> as "
        "core::iter::traits::iterator::Iterator>::nth");
    rust_is_called("_RNvYNCNvCskOGwlKjLXpR_1t4mains0_0INtNtNtCs8NwYtU1Mohg_"
                   "4core3ops8function6FnOnceTReQShEE9call_onceB6_",
                   "<t::main::{closure#2} as core::ops::function::FnOnce<(&str, &mut "
                   "[u8])>>::call_once");
    rust_is_called(
        "_RNvYNCNvCskOGwlKjLXpR_1t4mains_0INtNtNtCs8NwYtU1Mohg_"
        "4core3ops8function6FnOnceTlEE9call_onceB6_",
        "<t::main::{closure#1} as core::ops::function::FnOnce<(i32,)>>::call_once");
}

TEST(rust_symbols_before_rfc_2603)
{
    rust_is_called("_ZN1t3neg17hcff85add343dc8bbE", "t::neg");
    rust_is_called("_ZN1t4main17h68ca49cd1bb97b3bE", "t::main");
    rust_is_called("_ZN1t4main28_$u7b$$u7b$closure$u7d$$u7d$17h1eed5d14c4cc7674E",
                   "t::main::{{closure}}");
    rust_is_called("_ZN1t4main28_$u7b$$u7b$closure$u7d$$u7d$17hb60898eda07dd694E",
                   "t::main::{{closure}}");
    rust_is_called("_ZN1t4main28_$u7b$$u7b$closure$u7d$$u7d$17he4bd9ffb5a5cfb51E",
                   "t::main::{{closure}}");
    rust_is_called("_ZN1t4main28_$u7b$$u7b$closure$u7d$$u7d$17he60258405bbc88a4E",
                   "t::main::{{closure}}");
    rust_is_called("_ZN1t9g$uf6$del17hdc21453bc001e564E", "t::gödel");
    rust_is_called("_ZN4core3ptr76drop_glue$LT$alloc..boxed..Box$LT$t..Sq$LT$u16$C$3_"
                   "usize$C$_$C$_$GT$$GT$$GT$17he737d43ebd35a736E",
                   "core::ptr::drop_glue<alloc::boxed::Box<t::Sq<u16,3_usize,_,_>>>");
    rust_is_called("_ZN55_$LT$t..Sq$LT$T$C$_$C$_$C$_$GT$$u20$as$u20$t..Shape$GT$"
                   "4area17h2bd57a8badcef7bcE",
                   "<t::Sq<T,_,_,_> as t::Shape>::area");
    rust_is_called("_ZN55_$LT$t..Sq$LT$T$C$_$C$_$C$_$GT$$u20$as$u20$t..Shape$GT$"
                   "4area17h87b483d7c9e8db19E",
                   "<t::Sq<T,_,_,_> as t::Shape>::area");
    rust_is_called("_ZN55_$LT$t..Sq$LT$T$C$_$C$_$C$_$GT$$u20$as$u20$t..Shape$GT$4area28_$"
                   "u7b$$u7b$closure$u7d$$u7d$17h09ac136a3b00e513E",
                   "<t::Sq<T,_,_,_> as t::Shape>::area::{{closure}}");
    rust_is_called("_ZN55_$LT$t..Sq$LT$T$C$_$C$_$C$_$GT$$u20$as$u20$t..Shape$GT$4area28_$"
                   "u7b$$u7b$closure$u7d$$u7d$17h9dfd3943f083d0e9E",
                   "<t::Sq<T,_,_,_> as t::Shape>::area::{{closure}}");
    rust_is_called("_ZN55_$LT$t..Sq$LT$T$C$_$C$_$C$_$GT$$u20$as$u20$t..Shape$GT$"
                   "5boxed17h2d285b66721ce07fE",
                   "<t::Sq<T,_,_,_> as t::Shape>::boxed");
    rust_is_called("_ZN55_$LT$t..Sq$LT$T$C$_$C$_$C$_$GT$$u20$as$u20$t..Shape$GT$5boxed28_"
                   "$u7b$$u7b$closure$u7d$$u7d$17hab9e3894f76ce6d3E",
                   "<t::Sq<T,_,_,_> as t::Shape>::boxed::{{closure}}");
    rust_is_called("_ZN9hashbrown7control5group4sse25Group44convert_special_to_empty_and_"
                   "full_to_deleted17h53fd0062433f1181E",
                   "hashbrown::control::group::sse2::Group::convert_special_to_empty_and_"
                   "full_to_deleted");
    rust_is_called("_ZN3foo3bar17h0123456789abcdefE", "foo::bar");
    rust_is_called("_ZN3foo3bar17h0123456789abcdefE.llvm.77", "foo::bar");
    rust_is_called("_ZN3foo3bar17h0123456789abcdegE", "(not Rust)");
    rust_is_called("_ZN3foo3barE", "(not Rust)");
    rust_is_called("_ZN17h0123456789abcdefE", "(not Rust)");
    rust_is_called("_ZN9$u7b$x..y17h0123456789abcdefE", "{x::y");
    rust_is_called("_ZN99foo17h0123456789abcdefE", "(not Rust)");
    rust_is_called("_ZN99999999999999999999999foo17h0123456789abcdefE", "(not Rust)");
}

/* From the RFC and from rustc's own tests of the grammar. */
TEST(every_rule_of_the_rust_grammar)
{
    rust_is_called("_RNvC6_123foo3bar", "123foo::bar");
    rust_is_called("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
                   "utf8_idents::საჭმელად_გემრიელი_სადილი");
    rust_is_called("_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_",
                   "cc::spawn::{closure#0}::{closure#0}");
    rust_is_called(
        "_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_4iter8"
        "iterator8Iterator9rpositionNCNgNpB9_6memchr7memrchrs_0E0Bb_",
        "<core::slice::Iter<u8> as core::iter::iterator::Iterator>::rposition::"
        "<core::slice::memchr::memrchr::{closure#1}>::{closure#0}");
    rust_is_called("_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6"
                   "OutputuEL_ECs1iopQbuBiw2_3std",
                   "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>");
    rust_is_called("_RMC0INtC8arrayvec8ArrayVechKj7b_E", "<arrayvec::ArrayVec<u8, 123>>");
    rust_is_called("_RMCs4fqI2P2rA04_13const_genericINtB0_8UnsignedKhb_E",
                   "<const_generic::Unsigned<11>>");
    rust_is_called("_RMCs4fqI2P2rA04_13const_genericINtB0_6SignedKs98_E",
                   "<const_generic::Signed<152>>");
    rust_is_called("_RMCs4fqI2P2rA04_13const_genericINtB0_6SignedKanb_E",
                   "<const_generic::Signed<-11>>");
    rust_is_called("_RMCs4fqI2P2rA04_13const_genericINtB0_4BoolKb0_E",
                   "<const_generic::Bool<false>>");
    rust_is_called("_RMCs4fqI2P2rA04_13const_genericINtB0_4CharKc2202_E",
                   "<const_generic::Char<'\u2202'>>");
    rust_is_called("_RNvNvMCs4fqI2P2rA04_13const_genericINtB4_3FooKpE3foo3FOO",
                   "<const_generic::Foo<_>>::foo::FOO");
    rust_is_called("_RNvMC0RTTjhc_E1f", "(not Rust)");
    rust_is_called("_RNvMC1aRTjhcE1f", "<&(usize, u8, char)>::f");
    rust_is_called("_RNvMC1aTjE1f", "<(usize,)>::f");
    rust_is_called("_RNvMC1aPFUKCmERe1f",
                   "<*const unsafe extern \"C\" fn(u32) -> &str>::f");
    rust_is_called("_RNvMC1aFG0_RL1_mRL0_tEu1f", "<for<'a, 'b> fn(&'a u32, &'b u16)>::f");
    rust_is_called("_RNvMC1aQAhj4_1f", "<&mut [u8; 4]>::f");
    rust_is_called("_RNvMC1aOSz1f", "<*mut [!]>::f");
    rust_is_called("_RNvMC1aFK11C_cmse_callEu1f", "<extern \"C-cmse-call\" fn()>::f");
    rust_is_called("_RIC0Ktab_E", "::<171>");
    rust_is_called("_RIC1aKRe616263_E", "a::<\"abc\">");
    rust_is_called("_RIC1aKe616263_E", "a::<{*\"abc\"}>");
    rust_is_called("_RIC1aKReh_E", "(not Rust)");
    rust_is_called("_RIC1aKRAtj1_j2_EE", "(not Rust)");
    rust_is_called("_RIC1aKAj1_j2_EE", "a::<{[1, 2]}>");
    rust_is_called("_RIC1aKTj1_EE", "a::<{(1,)}>");
    rust_is_called("_RIC1aKVNvC1b1cUE", "a::<{b::c}>");
    rust_is_called("_RIC1aKVNvC1b1cTj1_EE", "a::<{b::c(1)}>");
    rust_is_called("_RIC1aKVNvC1b1cS1xj1_EE", "a::<{b::c { x: 1 }}>");
    rust_is_called("_RNvC1a1b.llvm.123", "a::b");
    rust_is_called("_RNvC1a1bC1c", "a::b"); /* instantiated by crate c */
}

TEST(what_is_no_rust_symbol_is_none)
{
    static const char *const wrong[] = {"_R",
                                        "_RN",
                                        "_RNv",
                                        "_RNvC",
                                        "_RNvC1",
                                        "_RNvC1a",
                                        "_RNvC1a9b",
                                        "_RB_",
                                        "_RBz_",
                                        "_RNvB_1a",
                                        "_RIC1aB3_E",
                                        "_RNvC99999999999999999999999999a1b",
                                        "_RC1a!",
                                        "_R1a",
                                        "_RNvMC1aRL0_h1f",
                                        "_RIC1aKjzz_E",
                                        "_RIC1aKb2_E",
                                        "_RIC1aKcd800_E",
                                        "_RIC1aKc110000_E",

                                        "_Rfoo",
                                        "_r",
                                        ""};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        rust_is_called(wrong[i], "(not Rust)");
}

/* Back references double with each: 2^40 names in 200 bytes. */
TEST(a_rust_symbol_that_would_print_for_ever_is_none)
{
    char symbol[4096] = "_RIC1a", text[8192];
    size_t at = strlen(symbol), last = at - 2;

    for (int i = 0; i < 40; i++) {
        size_t begin = at - 2;
        char back[16];
        if (i == 0)
            (void)snprintf(back, sizeof back, "h");
        else if (last == 0)
            (void)snprintf(back, sizeof back, "B_");
        else if (last - 1 < 10)
            (void)snprintf(back, sizeof back, "B%zu_", last - 1);
        else
            (void)snprintf(back, sizeof back, "B%c%c_",
                           "0123456789abcdefghijklmnopqrstuvwxyz"
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(last - 1) / 62],
                           "0123456789abcdefghijklmnopqrstuvwxyz"
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(last - 1) % 62]);
        at += (size_t)snprintf(symbol + at, sizeof symbol - at, "T%s%sE", back, back);
        last = begin;
    }
    (void)snprintf(symbol + at, sizeof symbol - at, "E");
    CHECK_INT(tt_demangle_rust(symbol, text, sizeof text), 0);
}

TEST(a_name_that_is_too_long_for_its_place_is_none)
{
    char text[8];

    CHECK_INT(tt_demangle_rust("_RNvC3abc3def", text, 8), 0);
    CHECK_INT(tt_demangle_rust("_RNvC2abc2de", text, 8), 0);
    CHECK_INT(tt_demangle_rust("_RNvC2ab2cd", text, 7), 6);
    CHECK_STR(text, "ab::cd");
    CHECK_INT(tt_demangle_rust("_RNvC2ab2cd", text, 6), 0);
    CHECK_INT(tt_demangle_rust("_RNvC2ab2cd", text, 0), 0);
}

/* ── Paths ────────────────────────────────────────────────────────────────────────── */

static void is_path(const char *folder, const char *raw, const char *want)
{
    struct tt_source_paths p = {0};

    CHECK_STR(tt_source_paths_get(&p, folder, raw), want);
    CHECK_STR(tt_source_paths_get(&p, "/else/where", raw), want); /* it is known by now */
    tt_source_paths_fini(&p);
}

TEST(a_source_has_one_name_however_it_was_found)
{
    is_path("/src", "a.c", "/src/a.c");
    is_path("/src", "/usr/a.c", "/usr/a.c");
    is_path("/src/build", "../a.c", "/src/a.c");
    is_path(NULL, "../a.c", "../a.c");
    is_path("./misc", "./misc/a.c", "misc/a.c");
    is_path("/", "../../a.c", "/a.c");
    is_path("/src", "a/./b//c/../d.c", "/src/a/b/d.c");
    is_path(NULL, "a/../../b.c", "../b.c");
    is_path(NULL, "..", "..");
    is_path(NULL, ".", "");
    is_path(NULL, "/", "/");
    is_path("/src", "", "/src");
}

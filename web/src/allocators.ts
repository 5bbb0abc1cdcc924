// SPDX-License-Identifier: MIT
// allocators.ts - functions of common libraries, languages and programs that allocate for their callers: merged into them,
// they do not hide which function wanted the memory.
export const allocators = new RegExp(
  "^(" +
    [
      "x(m|c|re|z|nm|nre)alloc(array)?|x(str|strn|mem)dup|(safe|checked|must)_?(m|c|re)alloc",
      "operator new(\\[\\])?(\\(.*\\))?|.*allocator(_traits)?<.*>::allocate(\\(.*\\))?",
      "g_(try_)?(malloc0?|realloc|slice_alloc0?|memdup2?|strn?dup)(_n)?",
      "_?Py(Mem|Object)_(Raw|Default)?(Raw)?(Malloc|Calloc|Realloc)|Perl_safesys(m|c|re)alloc|(ruby|objspace)_x(m|c|re)alloc.*|_?(safe_)?e(m|c|re)alloc.*",
      "sqlite3_?(Db|Mem)?([Mm]|[Rr]e)alloc.*|mallocWithAlarm|dbMallocRawFinish",
      "(av|apr|ngx|png|CRYPTO|OPENSSL|talloc|_talloc)_[a-z_]*(m|c|re|p|z)?alloc(_[a-z]+)?|__(rust|rdl|rg)_(re)?alloc(_zeroed)?|alloc::alloc::.*",
    ].join("|") +
    ")$",
);

// These, and the functions of C++'s and Rust's libraries between them and the program.  A template that returns a type of the
// library looks like one of its functions.
export const libraryPattern = `/${allocators.source.replace(/\)\$$/, "|([^(<]* )?<?(std|__gnu_cxx|alloc|core)::.*)$")}/`;

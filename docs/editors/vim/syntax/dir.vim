" Syntax of .dir: modules of dopt, and rules.
if exists("b:current_syntax")
  finish
endif
syn match dirType "[:,]\@1<=\s*\<[A-Za-z][A-Za-z0-9_]*\ze\["
syn match dirOp "\<[a-z][a-z0-9_]*\ze\s*("
syn match dirAttribute "\<[A-Za-z_][A-Za-z0-9_]*\ze\s*=[^=>]"
syn keyword dirKeyword module let mesh steps func rule where
syn keyword dirOp call return
syn keyword dirBoolean true false
syn match dirValue "%[A-Za-z0-9_][A-Za-z0-9_.]*"
syn match dirFunction "@[A-Za-z_][A-Za-z0-9_.]*"
syn match dirNumber "\<[0-9]\+\(\.[0-9]*\)\?\([eE][+-]\?[0-9]\+\)\?\([A-Za-z]\+\(/s\)\?\)\?\>"
syn region dirString start=+"+ skip=+\\.+ end=+"+ oneline
syn match dirComment "//.*$" contains=@Spell
hi def link dirType Type
hi def link dirOp Function
hi def link dirAttribute Identifier
hi def link dirKeyword Keyword
hi def link dirBoolean Boolean
hi def link dirValue Special
hi def link dirFunction Label
hi def link dirNumber Number
hi def link dirString String
hi def link dirComment Comment
let b:current_syntax = "dir"

au BufRead,BufNewFile *.dir,*.rules setfiletype dir

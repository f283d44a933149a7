# Writes the public headers as they are installed: includes name the installed files, dopt.h includes all of them, and
# version.h has the version of the interface, a digest of what they declare. Comments and blanks do not count in it.
#     cmake -DOUTPUT=FOLDER -DROOT=FOLDER -P passes/api/public.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/headers.cmake)

# A file whose time changes only with its content.
function(write_changed name text)
	file(CONFIGURE OUTPUT ${OUTPUT}/${name} CONTENT "${text}" @ONLY)
endfunction()

# `#include "ir/ir.h"` becomes `#include "dopt/ir.h"`; a header that is not public is an error.
function(rewrite_includes variable file text)
	string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${text}")
	foreach(include IN LISTS includes)
		string(REGEX REPLACE ".*\"(.*)\"" "\\1" path "${include}")
		if(NOT DEFINED name_of_${path})
			message(FATAL_ERROR
				"${file} is public and includes ${path}, which is not in passes/api/headers.cmake")
		endif()
		string(REPLACE "${include}" "#include \"dopt/${name_of_${path}}\"" text "${text}")
	endforeach()
	set(${variable} "${text}" PARENT_SCOPE)
endfunction()

set(files ${DOPT_PUBLIC_HEADERS})
while(files)
	list(POP_FRONT files file name)
	set(name_of_${file} ${name})
endwhile()
set(declared "")
set(all "")
set(files ${DOPT_PUBLIC_HEADERS})
while(files)
	list(POP_FRONT files file name)
	file(READ ${ROOT}/${file} text)
	string(REPLACE ";" "<semicolon>" text "${text}")
	string(REPLACE "[" "<open>" text "${text}")
	string(REPLACE "]" "<close>" text "${text}")
	rewrite_includes(text ${file} "${text}")
	string(REPLACE "<semicolon>" ";" text "${text}")
	string(REPLACE "<open>" "[" text "${text}")
	string(REPLACE "<close>" "]" text "${text}")
	file(WRITE ${OUTPUT}/new "${text}")
	file(COPY_FILE ${OUTPUT}/new ${OUTPUT}/${name} ONLY_IF_DIFFERENT)
	string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
	string(REGEX REPLACE "[ \t\n]+" " " text "${text}")
	string(SHA256 digest "${text}")
	string(APPEND declared "${name} ${digest}\n")
	if(name MATCHES "\\.h$")
		string(APPEND all "#include \"dopt/${name}\"\n")
	endif()
endwhile()
string(SHA256 digest "${declared}")
string(SUBSTRING ${digest} 0 16 digest)
write_changed(version.h "/* The version of the plugin interface: a digest of the public headers. Written by the build. */
#ifndef DOPT_VERSION_H
#define DOPT_VERSION_H
#define DOPT_API_VERSION 0x${digest}ULL
#endif
")
write_changed(dopt.h "/* All that a plugin may use. */
#ifndef DOPT_DOPT_H
#define DOPT_DOPT_H
${all}#include \"dopt/version.h\"
#endif
")
file(REMOVE ${OUTPUT}/new)
file(TOUCH ${OUTPUT}/stamp)

# Writes a header with the backends of this build, as profiles have them: the version, a hash of the
# sources that generate or are the code which runs, and the tools and libraries.
#     cmake -DOUTPUT=FILE -DROOT=FOLDER -DVERSION=... -DCONFIG=FILE -DFLAGS=... -DTOOLS_HOST=... -DTOOLS_CUDA=... -P
cmake_minimum_required(VERSION 3.25)

# The first digits of the hash of the contents of files, and of a text.
function(hash_files variable text)
	set(all "${text}")
	set(files "")
	foreach(pattern IN LISTS ARGN)
		file(GLOB found ${pattern})
		if(NOT found)
			message(FATAL_ERROR "no file matches ${pattern}: did it move?")
		endif()
		list(APPEND files ${found})
	endforeach()
	list(SORT files)
	foreach(file IN LISTS files)
		file(SHA256 ${file} one)
		string(APPEND all ${one})
	endforeach()
	string(SHA256 all "${all}")
	string(SUBSTRING ${all} 0 8 all)
	set(${variable} ${all} PARENT_SCOPE)
endfunction()

# The flags of the compiler are in the first of these files.
set(shared ${CONFIG} ${ROOT}/ir/ops/ops.def ${ROOT}/ir/ops/scalar.def ${ROOT}/ir/ops/form*.[ch] ${ROOT}/ir/ops/expr.c
	${ROOT}/ir/loops/*.[ch] ${ROOT}/ir/ops/notation.c ${ROOT}/lower/own.[ch]
	${ROOT}/runtime/kernel/scalar_*.h ${ROOT}/runtime/kernel/half.h ${ROOT}/runtime/kernel/rng.h)
hash_files(host "${FLAGS}" ${shared} ${ROOT}/lower/text/*.[ch] ${ROOT}/lower/host/*.[ch] ${ROOT}/runtime/host/*.[ch]
	${ROOT}/runtime/kernel/kernel.h)
hash_files(cuda "${FLAGS}" ${shared} ${ROOT}/lower/text/*.[ch] ${ROOT}/lower/cuda/*.[ch] ${ROOT}/runtime/cuda/*.[ch])
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT
"/* The code and the libraries behind measured times; written by passes/analysis/profile/backend.cmake. */
#ifndef DOPT_BACKEND_H
#define DOPT_BACKEND_H
#define DOPT_BACKEND_HOST \"host ${VERSION}, code ${host}, ${TOOLS_HOST}\"
#define DOPT_BACKEND_CUDA \"cuda ${VERSION}, code ${cuda}, ${TOOLS_CUDA}\"
#endif
")

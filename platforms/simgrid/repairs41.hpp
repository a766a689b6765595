/* Lets a function that replaces one of SimGrid's (repairs41*.cpp) call the original. */
#ifndef PLATFORMS_REPAIRS41_HPP
#define PLATFORMS_REPAIRS41_HPP

#include <dlfcn.h>

#include <cstring>

/* Returns SimGrid's member function of the same name as the given replacement.  A pointer to a member function begins with
 * the function's address, from which the loader finds the name. */
template <typename Function> static Function next(Function here)
{
  void* address;
  Dl_info about;
  std::memcpy(&address, &here, sizeof address);
  dladdr(address, &about);
  address = dlsym(RTLD_NEXT, about.dli_sname);
  std::memcpy(&here, &address, sizeof address);
  return here;
}

#endif

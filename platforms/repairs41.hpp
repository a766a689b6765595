/* How a function that stands in for one of SimGrid's (repairs41*.cpp) calls that one. */
#ifndef PLATFORMS_REPAIRS41_HPP
#define PLATFORMS_REPAIRS41_HPP

#include <dlfcn.h>

#include <cstring>

/* SimGrid's own member function, behind the one here of the same name.  A pointer to a member begins with its address,
 * by which the loader tells the name. */
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

#define _GNU_SOURCE
#include "spaces.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const KINDS[] = {"net", "uts"};
enum { PACKETS_WAITING = 5000 }; /* in a device, for the router */

static void path_of(char path[256], const char *name, const char *kind)
{
  snprintf(path, 256, SPACES "/%s.%s", name, kind);
}

const char *spaces_begin(void)
{
  if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
    return "a file tree of its own";
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
    return "/proc";
  return mount("tmpfs", SPACES, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") ? SPACES : NULL;
}

/* Sets a parameter of the calling process's network name space. */
static bool set(const char *parameter, const char *value)
{
  char path[160];
  snprintf(path, sizeof path, "/proc/sys/net/%s", parameter);
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  bool done = write(file, value, strlen(value)) == (ssize_t)strlen(value);
  close(file);
  return done;
}

static const char *set_tcp(int window)
{
  char sizes[64];
  snprintf(sizes, sizeof sizes, "4096 %d %d", window, window);
  set("ipv6/conf/all/disable_ipv6", "1"); /* a kernel without IPv6 has no such file */
  set("ipv6/conf/default/disable_ipv6", "1");
  if (!set("ipv4/tcp_congestion_control", "reno"))
    return "tcp_congestion_control";
  if (!set("ipv4/tcp_slow_start_after_idle", "0"))
    return "tcp_slow_start_after_idle";
  if (!set("ipv4/tcp_no_metrics_save", "1"))
    return "tcp_no_metrics_save";
  return set("ipv4/tcp_rmem", sizes) && set("ipv4/tcp_wmem", sizes) ? NULL : "tcp_rmem and tcp_wmem";
}

static bool bring_up(int any, const char *device)
{
  struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};
  strcpy(request.ifr_name, device);
  return !ioctl(any, SIOCSIFFLAGS, &request);
}

static bool set_address(int any, unsigned long what, uint32_t address)
{
  struct ifreq request = {.ifr_name = "tun0"};
  struct sockaddr_in *value = (struct sockaddr_in *)&request.ifr_addr;
  value->sin_family = AF_INET;
  value->sin_addr.s_addr = address;
  return !ioctl(any, what, &request);
}

static const char *make_device(Grid *grid, Node *node)
{
  node->device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  struct ifreq made = {.ifr_name = "tun0", .ifr_flags = IFF_TUN | IFF_NO_PI};
  if (node->device < 0 || ioctl(node->device, TUNSETIFF, &made))
    return "/dev/net/tun";
  int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any < 0)
    return "a socket";
  struct ifreq mtu = {.ifr_name = "tun0", .ifr_mtu = grid->mtu}, queue = {.ifr_name = "tun0", .ifr_qlen = PACKETS_WAITING};
  bool done = !ioctl(any, SIOCSIFMTU, &mtu) && !ioctl(any, SIOCSIFTXQLEN, &queue) &&
              set_address(any, SIOCSIFADDR, node->address) && set_address(any, SIOCSIFNETMASK, htonl(0xffffff00)) &&
              bring_up(any, "tun0") && bring_up(any, "lo");
  close(any);
  return done ? NULL : "device tun0";
}

const char *spaces_make(Grid *grid, Node *node)
{
  if (unshare(CLONE_NEWNET | CLONE_NEWUTS) || sethostname(node->name, strlen(node->name)))
    return "name spaces";
  for (int i = 0; i < 2; i++) {
    char file[256], own[64];
    path_of(file, node->name, KINDS[i]);
    snprintf(own, sizeof own, "/proc/self/ns/%s", KINDS[i]);
    int made = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (made < 0 || close(made) || mount(own, file, NULL, MS_BIND, NULL))
      return "files of the name spaces";
  }
  const char *problem = make_device(grid, node);
  return problem ? problem : set_tcp(grid->window);
}

bool spaces_enter(const char *name)
{
  for (int i = 0; i < 2; i++) {
    char path[256];
    path_of(path, name, KINDS[i]);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || setns(file, 0))
      return false;
    close(file);
  }
  return true;
}

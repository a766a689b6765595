"""Results as a static site: pages with permanent addresses, a league, badges and a feed.

Public face: ``site.publish``, for ``gridval report --public``.
"""

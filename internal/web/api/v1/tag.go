package v1

import "keepsake/internal/web/endpoint"

// DescribeTags describes the groups that the operations of this package belong to.
func DescribeTags(r *endpoint.Registry) {
	r.DescribeTag("health", "Check whether the service works.")
	r.DescribeTag("login", "Sign in, refresh tokens, change a password and sign out. Read the public keys that verify tokens and receipts.")
	r.DescribeTag("profile", "Read and change the profile of the signed-in user.")
	r.DescribeTag("api keys", "Create, change, rotate, revoke and verify API keys.")
	r.DescribeTag("documents", "Store, import and delete the documents that search finds.")
	r.DescribeTag("collections", "Tune how the documents of a collection are searched: language, synonyms, and fields with their weights.")
	r.DescribeTag("search", "Search documents.")
	r.DescribeTag("memories", "Store, recall, export and erase memories about subjects.")
	r.DescribeTag("webhooks", "Deliver events to other systems, and read what was delivered.")
	r.DescribeTag("admin", "Administer workspaces, users, tiers, signing keys and caches, and read the audit log.")
	r.DescribeTag("analytics", "Read who uses what: requests over time, the slowest and most frequent ones, errors, quotas and single requests.")
	r.DescribeTag("versions", "List the versions of the API, release new ones and retire old ones.")
}

package account_test

import (
	"testing"

	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
)

func TestRolesHaveTheScopesOfTheTable(t *testing.T) {
	t.Parallel()
	for role, want := range map[account.Role]string{
		account.RoleViewer:    "read analytics:read",
		account.RoleMember:    "read write analytics:read memory:read memory:write",
		account.RoleDeveloper: "read write developer:manage analytics:read memory:read memory:write",
		account.RoleAdmin:     auth.All.String(),
		"root":                "",
	} {
		if got := role.Scopes().String(); got != want {
			t.Errorf("%s may %q, want %q", role, got, want)
		}
	}
}

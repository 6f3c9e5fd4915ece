package account

import "keepsake/internal/govern/auth"

// Role gives a user's tokens their scopes (docs/spec/workspaces.md).
type Role string

// The roles.
const (
	RoleViewer    Role = "viewer"
	RoleMember    Role = "member"
	RoleDeveloper Role = "developer"
	RoleAdmin     Role = "admin"
)

const (
	viewerScopes    = auth.Read | auth.AnalyticsRead
	memberScopes    = viewerScopes | auth.Write | auth.MemoryRead | auth.MemoryWrite
	developerScopes = memberScopes | auth.DeveloperManage
)

// Scopes are the scopes of the role, None if there is no such role.
func (r Role) Scopes() auth.Scopes {
	switch r {
	case RoleViewer:
		return viewerScopes
	case RoleMember:
		return memberScopes
	case RoleDeveloper:
		return developerScopes
	case RoleAdmin:
		return auth.All
	default:
		return auth.None
	}
}

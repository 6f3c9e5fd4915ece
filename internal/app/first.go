package app

// First is what a first start makes: the workspace `default`, its admin and a key with all scopes (decisions.md, O).
type First struct {
	WorkspaceID string `json:"workspaceId"`
	UserID      string `json:"userId"`
	Email       string `json:"email"`
	Password    string `json:"password,omitempty"` // only when it was generated
	APIKey      string `json:"apiKey"`
}

package conformance

// eventChecks checks §6.
func eventChecks() []promise {
	return []promise{waits("AnEventReachesAWebhook", "webhooks")}
}

package conformance

// laterChecks checks the endpoints of §1 that have their own chapters.
func laterChecks() []promise {
	return []promise{
		waits("AnalyticsNeedTheirScope", "analytics"),
	}
}

// eventChecks checks §6.
func eventChecks() []promise {
	return []promise{waits("AnEventReachesAWebhook", "webhooks")}
}

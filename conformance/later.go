package conformance

// laterChecks are the endpoints of §1 that have chapters of their own.
func laterChecks() []promise {
	return []promise{
		waits("AnalyticsNeedTheirScope", "analytics"),
	}
}

// eventChecks is §6.
func eventChecks() []promise {
	return []promise{waits("AnEventReachesAWebhook", "webhooks")}
}

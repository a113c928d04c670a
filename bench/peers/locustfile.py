"""The user of the load benchmark: one request after the other, over Locust's fast client."""

from locust import FastHttpUser, constant, task


class Requests(FastHttpUser):
    wait_time = constant(0)

    @task
    def get(self):
        self.client.get("/")

"""The page of dropglm label in a browser, and what a person does on it."""

from tests.cli.command import texts

TEXTS, TRUTH = texts(80)
TRUTH_OF = dict(zip(TEXTS, TRUTH, strict=True))


class Page:
    """The page, and what a person does on it."""

    def __init__(self, driver, address):
        self.driver, self.address = driver, address
        driver.get_log("browser")  # of earlier pages
        driver.get(address)
        self.wait(lambda: self.text)

    def wait(self, condition, seconds=20):
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(self.driver, seconds, 0.02, (StaleElementReferenceException,))
        return wait.until(lambda _: condition())

    def of(self, id):
        return self.driver.find_element("id", id)

    @property
    def text(self):
        return self.of("text").get_attribute("textContent")

    @property
    def row(self):
        return self.of("place").text

    def press(self, key):
        self.driver.find_element("tag name", "body").send_keys(key)

    @property
    def message(self):
        return self.of("message").text

    @property
    def classes(self):
        return [one.text for one in self.driver.find_elements("css selector", "#classes button span")]

    def settles(self):
        """Wait until keys label the text, after it has changed by itself."""
        self.wait(lambda: not self.driver.find_elements("css selector", "#classes.settling"))

    def moves_on(self, action):
        self.settles()
        script = "return ['place', 'progress'].map((id) => document.getElementById(id).textContent)"
        before = self.driver.execute_script(script)
        action()
        self.wait(lambda: self.driver.execute_script(script) != before)
        # The page draws the next text first, and its numbers after that frame.
        self.driver.execute_async_script(
            "requestAnimationFrame(() => setTimeout(() => setTimeout(arguments[0])))"
        )

    def label(self):
        """Label the text on the screen as it should be."""
        label = TRUTH_OF.get(self.text, "good")
        self.moves_on(lambda: self.press("1" if label == "good" else "2"))
        return label

    def open(self, id):
        self.driver.execute_script("document.getElementById(arguments[0]).open = true", id)

    def errors(self):
        return [entry for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

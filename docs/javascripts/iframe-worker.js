// A page that is opened as a file may start no Worker, and the search of the site is one: here it runs in a hidden frame.
if (location.protocol === "file:")
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      this.loaded = new Promise((resolve) =>
        frame.addEventListener("load", () => {
          this.inside = frame.contentWindow
          this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
          const script = this.inside.document.createElement("script")
          script.src = new URL(url, location.href)
          script.addEventListener("load", resolve)
          this.inside.document.body.append(script)
        }, { once: true })
      )
      document.body.append(frame)
    }
    postMessage(data) {
      this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }

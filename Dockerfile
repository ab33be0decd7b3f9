# The web server: docs/server.md tells how to start it.
FROM python:3.11-slim AS build
WORKDIR /src
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY adaptive_rag adaptive_rag
COPY graph graph
COPY nodes nodes
ARG EXTRAS=server,postgres,tracing
RUN python -m venv /opt/adaptive-rag
RUN /opt/adaptive-rag/bin/pip install --no-cache-dir -c constraints.txt ".[${EXTRAS}]"

FROM python:3.11-slim
RUN useradd --uid 10001 --create-home rag && install --directory --owner rag --mode 700 /data
COPY --from=build /opt/adaptive-rag /opt/adaptive-rag
ENV PATH=/opt/adaptive-rag/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    ADAPTIVE_RAG_SERVER__HOST=0.0.0.0 \
    ADAPTIVE_RAG_SERVER__PORT=8080 \
    ADAPTIVE_RAG_SERVER__DATA=/data/server
USER rag
WORKDIR /data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/healthz', timeout=4)"]
CMD ["adaptive-rag", "serve", "--logs"]

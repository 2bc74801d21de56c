"""The AQL statements over the runs of jobs; see `queries`."""

# Runs of jobs, which are nobody's

ALL_RUNS_WANTED = """
FOR r IN runs
FILTER (@app == null OR r.app == @app) AND (@pipelines == null OR r.pipeline IN @pipelines)
FILTER (@states == null OR r.state IN @states)
FILTER (@since == null OR r.started_us >= @since) AND (@until == null OR r.started_us < @until)
FILTER @after_us == null OR r.started_us < @after_us OR (r.started_us == @after_us AND r.order < @after_order)
SORT r.started_us DESC, r.order DESC LIMIT @limit RETURN [r.body, r.cancel, r.lease_us]
"""
ALL_RUNS_OF_THIS_ID = """
FOR r IN runs FILTER r._key == @key RETURN [r.body, r.cancel, r.lease_us]
"""
ALL_RUNS_WITH_THIS_ONE = """
INSERT @run INTO runs OPTIONS {overwriteMode: "update"}
"""
ALL_RUNS_WITH_NEW_ONES = """
FOR r IN @runs INSERT r INTO runs OPTIONS {overwriteMode: "ignore"}
"""
RUNS_OF_A_UNIT_OF_WORK = """
FOR r IN @runs FILTER r.user_id == @user INSERT UNSET(r, "user_id") INTO runs OPTIONS {overwriteMode: "update"}
"""
ALL_RUN_TOTALS = """
FOR r IN runs FILTER @app == null OR r.app == @app
COLLECT pipeline = r.pipeline, state = r.state AGGREGATE n = COUNT(1), duration = SUM(r.duration_us)
SORT pipeline, state RETURN [pipeline, state, n, duration]
"""
ALL_RUNS_LEASED = """
FOR r IN runs FILTER r._key == @key
FILTER @take_over OR r.holder == null OR r.holder == @holder OR r.lease_us <= @now
UPDATE r WITH {holder: @holder, lease_us: @until} IN runs RETURN NEW.cancel
"""
ALL_RUNS_CANCELLED = """
FOR r IN runs FILTER r._key == @key UPDATE r WITH {cancel: true} IN runs
"""
ALL_RUNS_DELETED = """
FOR r IN runs FILTER r._key IN @keys REMOVE r IN runs
"""

# Migrations

MIGRATION_OLD_RUNS = """
FOR r IN runs FILTER r.order == null LIMIT @limit RETURN r.body
"""
MIGRATION_ADD_RUNS = """
FOR r IN @documents INSERT r INTO runs OPTIONS {overwriteMode: "update"}
"""

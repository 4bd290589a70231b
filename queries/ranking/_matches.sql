-- What the statements on matches share: recommendations of which the ground truth knows the
-- outcome.

-- One row per recommendation that can be among the first k, with the probability that it is, which
-- is 0 or 1 unless ties = 'expected'. Where the outcome is known, it has the `value` and the
-- `weight`: one over the propensity, or the number of items of the slice's ground truth if the
-- propensities are not given. Of the rows of one user and item only the first has an outcome. A slice
-- without recommendations has one row of NULLs.
CREATE OR REPLACE TEMP VIEW shown AS
WITH listed AS (
    -- with repeats = 'drop' the rows of one user and item are one row, with the best score
    SELECT slice, "group", "user", item,
           max(score) AS score, min(rank) AS rank, max(predicted) AS predicted
    FROM recs
    WHERE "user" IS NOT NULL AND item IS NOT NULL
    GROUP BY slice, "group", "user", item,
             CASE WHEN getvariable('repeats') = 'drop' THEN -1 ELSE recs.rowid END
),
outcomes AS (
    SELECT slice, "user", item, max(value) AS value, max(grade) > 0 AS relevant,
           max(propensity) FILTER (value IS NOT NULL) AS propensity
    FROM actual
    GROUP BY slice, "user", item
),
positions AS (
    SELECT l.*, o.value, o.propensity,
           coalesce(rank, row_number() OVER (
               PARTITION BY l.slice, l."user"
               ORDER BY score DESC NULLS LAST,
                        CASE getvariable('ties')
                            WHEN 'optimistic' THEN (relevant IS NOT TRUE)::INT
                            WHEN 'pessimistic' THEN (relevant IS TRUE)::INT
                        END,
                        l.item
           )) AS position,
           rank() OVER (PARTITION BY l.slice, l."user" ORDER BY score DESC NULLS LAST) - 1 AS above,
           count(*) OVER (PARTITION BY l.slice, l."user", score) AS among
    FROM listed AS l
    LEFT JOIN outcomes AS o
        ON o.slice IS NOT DISTINCT FROM l.slice AND o."user" = l."user" AND o.item = l.item
),
judged AS (
    SELECT slice, "group", "user", item, score, predicted,
           CASE WHEN getvariable('k') IS NULL THEN 1
                WHEN getvariable('ties') = 'expected'
                THEN least(1, greatest(0, (getvariable('k') - above) / among))
                ELSE (position <= getvariable('k'))::INT
           END::DOUBLE AS probability,
           position = min(position) OVER (PARTITION BY slice, "user", item) AS is_first,
           CASE WHEN is_first THEN value END AS value,
           CASE WHEN is_first AND value IS NOT NULL THEN
               CASE WHEN (SELECT bool_or(a.propensity IS NOT NULL) FROM actual AS a)
                    THEN 1 / propensity
                    ELSE (SELECT count(DISTINCT a.item) FROM actual AS a
                          WHERE a.slice IS NOT DISTINCT FROM p.slice AND a."user" IS NOT NULL)
               END
           END::DOUBLE AS weight
    FROM positions AS p
),
slices AS (
    SELECT slice FROM recs WHERE "user" IS NOT NULL AND item IS NOT NULL
    UNION
    SELECT slice FROM actual WHERE "user" IS NOT NULL AND item IS NOT NULL
)
SELECT z.slice, j.* EXCLUDE (slice, is_first)
FROM slices AS z
LEFT JOIN judged AS j ON j.slice IS NOT DISTINCT FROM z.slice AND probability > 0;

-- One row per user and item that are shown with a score and a known outcome; of several rows, the
-- best score. A slice without a match has one row of NULLs.
CREATE OR REPLACE TEMP VIEW matches AS
WITH seen AS (FROM shown),
matched AS (
    SELECT slice, "group", "user", item, max(score) AS score, max(value) AS value
    FROM seen
    GROUP BY ALL
    HAVING max(score) IS NOT NULL AND max(value) IS NOT NULL
)
SELECT z.slice, m.* EXCLUDE (slice)
FROM (SELECT DISTINCT slice FROM seen) AS z
LEFT JOIN matched AS m ON m.slice IS NOT DISTINCT FROM z.slice;

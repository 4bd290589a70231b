-- Expected reciprocal rank: a reader goes down the list and stops at a hit with chance 1/2, or with
-- grades at (2^grade - 1) / 2^max_grade (linear: grade / (max_grade + 1)); the mean of 1 over the place.
WITH truth AS (
    -- every relevant item of a user once
    SELECT slice, "user", item, max(grade) AS grade
    FROM actual
    WHERE "user" IS NOT NULL AND item IS NOT NULL AND grade > 0
    GROUP BY ALL
),
shown AS (
    SELECT r.slice, r."user", r.item, r.score, r.rank, t.item IS NOT NULL AS relevant, t.grade
    FROM recs AS r
    LEFT JOIN truth AS t
        ON t.slice IS NOT DISTINCT FROM r.slice AND t."user" = r."user" AND t.item = r.item
    WHERE r."user" IS NOT NULL AND r.item IS NOT NULL
    QUALIFY coalesce(getvariable('repeats'), 'once') <> 'drop'
        OR row_number() OVER (
            PARTITION BY r.slice, r."user", r.item ORDER BY r.rank, r.score DESC NULLS LAST
        ) = 1
),
placed AS (
    SELECT *, coalesce(rank, row_number() OVER (
        PARTITION BY slice, "user"
        ORDER BY score DESC NULLS LAST,
                 CASE getvariable('ties')
                     WHEN 'optimistic' THEN (NOT relevant)::INT
                     WHEN 'pessimistic' THEN relevant::INT
                 END,
                 CASE WHEN getvariable('gain') IN ('linear', 'exponential')
                      THEN CASE getvariable('ties')
                               WHEN 'optimistic' THEN -grade
                               WHEN 'pessimistic' THEN grade
                           END
                 END,
                 item
    )) AS place
    FROM shown
),
hits AS (
    -- an item that is listed twice is a hit at its first place alone
    SELECT *, relevant AND row_number() OVER (
        PARTITION BY slice, "user", item ORDER BY place
    ) = 1 AS hit,
           place <= coalesce(getvariable('k'), place) AS inside
    FROM placed
),
readers AS (
    SELECT *,
           CASE WHEN NOT hit THEN 0
                WHEN getvariable('gain') = 'linear' THEN grade / (getvariable('max_grade') + 1)
                WHEN getvariable('gain') = 'exponential'
                THEN (pow(2, grade) - 1) / pow(2, getvariable('max_grade'))
                ELSE 0.5
           END AS stops
    FROM hits
),
still AS (
    SELECT *, coalesce(exp(sum(ln(1 - stops)) OVER (
        PARTITION BY slice, "user" ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )), 1) AS reading
    FROM readers
),
people AS (
    SELECT slice, "user" FROM recs WHERE "user" IS NOT NULL AND item IS NOT NULL
    UNION
    SELECT slice, "user" FROM actual WHERE "user" IS NOT NULL AND item IS NOT NULL
),
sizes AS (
    SELECT slice, "user",
           (SELECT count(*) FROM shown AS s
            WHERE s.slice IS NOT DISTINCT FROM p.slice AND s."user" = p."user") AS n_rec,
           (SELECT count(*) FROM truth AS t
            WHERE t.slice IS NOT DISTINCT FROM p.slice AND t."user" = p."user") AS n_rel,
           EXISTS (SELECT 1 FROM actual AS a
                   WHERE a.slice IS NOT DISTINCT FROM p.slice AND a."user" = p."user"
                     AND a.item IS NOT NULL) AS known
    FROM people AS p
),
valued AS (
    SELECT z.*, coalesce(sum(h.reading * h.stops / h.place), 0) AS value
    FROM sizes AS z
    LEFT JOIN still AS h
        ON h.slice IS NOT DISTINCT FROM z.slice AND h."user" = z."user"
        AND h.inside
    GROUP BY ALL
),
counted AS (
    SELECT slice, n_rel,
           CASE WHEN n_rel > 0 THEN value
                ELSE try_cast(coalesce(getvariable('empty')::VARCHAR, empty_of) AS DOUBLE)
           END AS value,
           CASE coalesce(getvariable('average_over'), over_of)
               WHEN 'relevant' THEN known
               WHEN 'both' THEN known AND n_rec > 0
               ELSE true
           END AND (n_rel > 0
                    OR coalesce(getvariable('empty')::VARCHAR, empty_of) <> 'drop') AS counts
    FROM (
        SELECT *,
               CASE getvariable('convention')
                   WHEN 'rectools' THEN 'relevant'
                   WHEN 'ranx' THEN 'relevant'
                   WHEN 'replay' THEN 'relevant'
                   WHEN 'trec' THEN 'both'
                   WHEN 'recommenders' THEN 'both'
                   WHEN 'spark' THEN 'all'
                   ELSE 'relevant'
               END AS over_of,
               CASE WHEN getvariable('convention') IN ('ranx', 'trec', 'spark') THEN '0' ELSE 'drop'
               END AS empty_of
        FROM valued
    )
)
SELECT slice,
       CASE WHEN bool_or(counts AND value IS NULL) THEN NULL
            ELSE avg(value) FILTER (counts)
       END AS value
FROM counted
GROUP BY slice

-- NDCG: the gains of a user's hits within the first k, discounted by their place, over what the best
-- order would give; averaged over users. The ideal list is n_rel, min(k, n_rel) or k long.
WITH truth AS (
    -- every relevant item of a user once
    SELECT slice, "user", item, max(grade) AS grade
    FROM actual
    WHERE "user" IS NOT NULL AND item IS NOT NULL AND grade > 0
    GROUP BY ALL
),
shown AS (
    SELECT r.slice, r."user", r.item, r.score, r.rank, t.item IS NOT NULL AS relevant, t.grade,
           CASE getvariable('gain')
               WHEN 'linear' THEN t.grade
               WHEN 'exponential' THEN pow(2, t.grade) - 1
               ELSE 1
           END AS gain
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
spread AS (
    -- in the mean over all orders, equal scores share what their places hold
    SELECT slice, "user", place, inside,
           CASE WHEN getvariable('ties') = 'expected'
                THEN avg((CASE WHEN hit THEN gain ELSE 0 END)) OVER (PARTITION BY slice, "user", score)
                ELSE (CASE WHEN hit THEN gain ELSE 0 END)
           END AS amount
    FROM hits
),
ideal AS (
    -- the relevant items in their best order
    SELECT slice, "user",
           CASE getvariable('gain') WHEN 'linear' THEN grade ELSE pow(2, grade) - 1 END AS amount,
           row_number() OVER (PARTITION BY slice, "user" ORDER BY grade DESC, item) AS place
    FROM truth
),
discounts AS (
    SELECT i AS place,
        CASE coalesce(getvariable('discount'),
                     CASE getvariable('convention') WHEN 'lenskit' THEN 'late_log' ELSE 'log' END)
            WHEN 'log' THEN 1 / log2(i + 1)
            WHEN 'late_log' THEN 1 / greatest(1, log2(i))
            WHEN 'reciprocal' THEN 1 / i
            WHEN 'geometric' THEN pow(coalesce(getvariable('p'), 0.8), i - 1)
        END AS discount
    FROM range(1, 400) AS places(i)
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
long AS (
    SELECT *,
           CASE coalesce(getvariable('ideal_over'),
                  CASE getvariable('convention')
                      WHEN 'rectools' THEN 'k'
                      WHEN 'ranx' THEN 'min(k, n_rel)'
                      WHEN 'trec' THEN 'min(k, n_rel)'
                      WHEN 'replay' THEN 'min(k, n_rel)'
                      WHEN 'recommenders' THEN 'min(k, n_rel)'
                      WHEN 'spark' THEN 'min(k, n_rel)'
                      WHEN 'lenskit' THEN 'min(k, n_rel)'
                      ELSE 'n_rel'
                  END)
               WHEN 'n_rel' THEN n_rel
               WHEN 'min(k, n_rel)' THEN least(getvariable('k'), n_rel)
               WHEN 'k' THEN coalesce(getvariable('k'), n_rec)
           END AS best
    FROM sizes
),
found AS (
    SELECT z.*,
           (SELECT coalesce(sum(h.amount * d.discount), 0)
            FROM spread AS h JOIN discounts AS d USING (place)
            WHERE h.slice IS NOT DISTINCT FROM z.slice AND h."user" = z."user" AND h.inside) AS gained,
           CASE WHEN getvariable('gain') IN ('linear', 'exponential')
                THEN (SELECT sum(i.amount * d.discount)
                      FROM ideal AS i JOIN discounts AS d USING (place)
                      WHERE i.slice IS NOT DISTINCT FROM z.slice AND i."user" = z."user"
                        AND i.place <= z.best)
                ELSE (SELECT sum(d.discount) FROM discounts AS d WHERE d.place <= z.best)
           END AS at_best
    FROM long AS z
),
valued AS (
    SELECT *, CASE WHEN gained = 0 THEN 0 ELSE gained / at_best END AS value FROM found
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
                   WHEN 'recommenders' THEN 'relevant'
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

-- For every position, the Kullback-Leibler divergence in nats of the shares of the groups of items
-- down to that position from their targets; the mean over positions, weighted by the discount.
-- views: _exposure.sql
-- views: _discounts.sql
-- n of: first_k
-- n: item_group IS NOT NULL
WITH listed AS (SELECT slice, position, item_group FROM first_k WHERE item_group IS NOT NULL),
counted AS (
    SELECT p.slice, p.position, t.target, count(l.position) AS times
    FROM (SELECT DISTINCT slice, position FROM listed) AS p
    CROSS JOIN targets AS t
    LEFT JOIN listed AS l
        ON l.slice IS NOT DISTINCT FROM p.slice AND l.item_group = t.item_group
        AND l.position <= p.position
    GROUP BY p.slice, p.position, t.item_group, t.target
),
shares AS (
    SELECT *, times / sum(times) OVER (PARTITION BY slice, position) AS share FROM counted
),
divergences AS (
    SELECT slice, discount(coalesce(getvariable('discount'), 'log'), position) AS weight,
           sum(CASE WHEN share > 0 THEN share * ln(share / target) ELSE 0 END) AS nats
    FROM shares
    GROUP BY slice, position
)
SELECT z.slice, sum(d.nats * d.weight) / sum(d.weight) AS value
FROM (SELECT DISTINCT slice FROM ranked) AS z
LEFT JOIN divergences AS d ON d.slice IS NOT DISTINCT FROM z.slice
GROUP BY z.slice
